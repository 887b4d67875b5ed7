// Counters, gauges and histograms, and their rendering as Prometheus text.
//
// A metric is registered once, with its labels, when its owner is built; that allocates and takes a lock. Afterwards
// counting is a relaxed atomic addition from any thread, without allocation. Metrics live as long as the registry;
// gauges that are computed when asked for live as long as their GaugeCallback.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/function.h"
#include "foundation/time.h"
#include "observability/sharded.h"

namespace naru {

// Only goes up.
class Counter {
 public:
  void add(uint64_t amount = 1) { cells_[detail::this_shard()].value.fetch_add(amount, std::memory_order_relaxed); }
  uint64_t value() const;

 private:
  struct alignas(detail::kCacheLine) Cell {
    std::atomic<uint64_t> value{0};
  };
  std::array<Cell, detail::kShards> cells_;
};

class Gauge {
 public:
  void set(int64_t value) { value_.store(value, std::memory_order_relaxed); }
  void add(int64_t amount) { value_.fetch_add(amount, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int64_t> value_{0};
};

// Upper bounds first, 2 * first, 4 * first, ...; what is larger than the last one is only in "+Inf".
// Recorded in `unit`s of which Prometheus' base unit (seconds, bytes) has `units_per_base`.
struct HistogramScale {
  uint64_t first = 1;
  size_t buckets = 1;
  double units_per_base = 1;
};
inline constexpr HistogramScale kLatencyScale{10'000, 22, 1e9};  // 10 µs to 21 s, recorded in nanoseconds
inline constexpr HistogramScale kSizeScale{64, 22, 1};           // 64 B to 128 MiB

class Histogram {
 public:
  static constexpr size_t kMaxBuckets = 30;

  explicit Histogram(const HistogramScale& scale) : scale_(scale) {}

  void record(uint64_t value) {
    Cell& cell = cells_[detail::this_shard()];
    cell.sum.fetch_add(value, std::memory_order_relaxed);
    cell.counts[bucket_of(value)].fetch_add(1, std::memory_order_relaxed);
  }
  void record(Duration duration) { record(duration.count() < 0 ? 0 : static_cast<uint64_t>(duration.count())); }

  struct Snapshot {
    std::vector<uint64_t> counts;  // one per bucket, then those beyond the last bound
    uint64_t sum = 0;
  };
  Snapshot snapshot() const;
  const HistogramScale& scale() const { return scale_; }

 private:
  // value <= first * 2^i  is the same as  (value - 1) / first < 2^i.
  size_t bucket_of(uint64_t value) const {
    if (value <= scale_.first) return 0;
    const auto bucket = static_cast<size_t>(std::bit_width((value - 1) / scale_.first));
    return bucket < scale_.buckets ? bucket : scale_.buckets;
  }

  struct alignas(detail::kCacheLine) Cell {
    std::atomic<uint64_t> sum{0};
    std::array<std::atomic<uint64_t>, kMaxBuckets + 1> counts{};
  };
  const HistogramScale scale_;
  std::array<Cell, detail::kShards> cells_;
};

using MetricLabels = std::vector<std::pair<std::string, std::string>>;

class MetricsRegistry;

// Keeps a computed gauge registered. After its destructor returned, the function is not running and never will.
// Must not outlive the registry.
class GaugeCallback {
 public:
  GaugeCallback() = default;
  GaugeCallback(GaugeCallback&& other) noexcept : registry_(std::exchange(other.registry_, nullptr)), id_(other.id_) {}
  GaugeCallback& operator=(GaugeCallback&& other) noexcept;
  ~GaugeCallback() { unregister(); }

 private:
  friend class MetricsRegistry;
  GaugeCallback(MetricsRegistry* registry, uint64_t id) : registry_(registry), id_(id) {}
  void unregister();

  MetricsRegistry* registry_ = nullptr;
  uint64_t id_ = 0;
};

// Thread-safe. The same name and labels may be registered once; metrics of one name share kind and help.
// Names follow Prometheus: naru_..., base units, counters end in _total.
class MetricsRegistry {
 public:
  MetricsRegistry();
  ~MetricsRegistry();
  MetricsRegistry(const MetricsRegistry&) = delete;
  MetricsRegistry& operator=(const MetricsRegistry&) = delete;

  Counter& counter(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Gauge& gauge(std::string_view name, std::string_view help, const MetricLabels& labels = {});
  Histogram& histogram(std::string_view name, std::string_view help, const HistogramScale& scale,
                       const MetricLabels& labels = {});
  // `read` runs on the rendering thread, under the registry's lock: it must be short, thread-safe, and register
  // nothing.
  [[nodiscard]] GaugeCallback computed_gauge(std::string_view name, std::string_view help, const MetricLabels& labels,
                                             UniqueFunction<double()> read);

  // Text format 0.0.4, sorted by name and labels.
  std::string render_prometheus() const;

 private:
  friend class GaugeCallback;
  struct Series;
  struct Family;

  Series& add_series(std::string_view name, std::string_view help, std::string_view kind, const MetricLabels& labels);
  void remove_callback(uint64_t id);

  mutable std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Family>, std::less<>> families_;
  uint64_t next_callback_ = 1;
  struct Place {
    std::string family;
    std::string labels;
  };
  std::map<uint64_t, Place> callbacks_;
};

}  // namespace naru
