#include "observability/metrics_registry.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include <fmt/format.h>

#include "foundation/assert.h"

namespace naru {
namespace {

bool is_metric_name(std::string_view name) {
  const auto allowed = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.front() >= 'a' && std::ranges::all_of(name, allowed);
}

// Help texts may hold quotes as they are; label values may not.
std::string escape(std::string_view text, bool quotes) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\\\";
    else if (c == '\n')
      escaped += "\\n";
    else if (c == '"' && quotes)
      escaped += "\\\"";
    else
      escaped += c;
  }
  return escaped;
}

// `api="Produce",version="9"`: what stands between the braces.
std::string label_text(const MetricLabels& labels) {
  std::string text;
  for (const auto& [name, value] : labels) {
    NARU_ASSERT(is_metric_name(name), "'{}' is not a label name", name);
    fmt::format_to(std::back_inserter(text), "{}{}=\"{}\"", text.empty() ? "" : ",", name, escape(value, true));
  }
  return text;
}

std::string braces(std::string_view labels) {
  return labels.empty() ? "" : fmt::format("{{{}}}", labels);
}

struct Callback {
  UniqueFunction<double()> read;
};

void render_histogram(std::string& text, std::string_view name, std::string_view labels, const Histogram& histogram) {
  const auto out = std::back_inserter(text);
  const Histogram::Snapshot snapshot = histogram.snapshot();
  const HistogramScale& scale = histogram.scale();
  const std::string_view comma = labels.empty() ? "" : ",";
  uint64_t cumulative = 0;
  for (size_t i = 0; i < scale.buckets; ++i) {
    cumulative += snapshot.counts[i];
    const double bound = static_cast<double>(scale.first << i) / scale.units_per_base;
    fmt::format_to(out, "{}_bucket{{{}{}le=\"{:g}\"}} {}\n", name, labels, comma, bound, cumulative);
  }
  cumulative += snapshot.counts.back();
  fmt::format_to(out, "{}_bucket{{{}{}le=\"+Inf\"}} {}\n", name, labels, comma, cumulative);
  fmt::format_to(out, "{}_sum{} {}\n", name, braces(labels), static_cast<double>(snapshot.sum) / scale.units_per_base);
  fmt::format_to(out, "{}_count{} {}\n", name, braces(labels), cumulative);
}

}  // namespace

uint64_t Counter::value() const {
  uint64_t sum = 0;
  for (const Cell& cell : cells_) sum += cell.value.load(std::memory_order_relaxed);
  return sum;
}

Histogram::Snapshot Histogram::snapshot() const {
  Snapshot result{std::vector<uint64_t>(scale_.buckets + 1), 0};
  for (const Cell& cell : cells_) {
    result.sum += cell.sum.load(std::memory_order_relaxed);
    for (size_t i = 0; i <= scale_.buckets; ++i) result.counts[i] += cell.counts[i].load(std::memory_order_relaxed);
  }
  return result;
}

struct MetricsRegistry::Series {
  std::variant<std::monostate, std::unique_ptr<Counter>, std::unique_ptr<Gauge>, std::unique_ptr<Histogram>, Callback>
      metric;

  void render(std::string& text, std::string_view name, std::string_view labels) {
    const auto line = [&](const auto& value) {
      fmt::format_to(std::back_inserter(text), "{}{} {}\n", name, braces(labels), value);
    };
    if (const auto* counter = std::get_if<std::unique_ptr<Counter>>(&metric)) line((*counter)->value());
    if (const auto* gauge = std::get_if<std::unique_ptr<Gauge>>(&metric)) line((*gauge)->value());
    if (auto* callback = std::get_if<Callback>(&metric)) line(callback->read());
    if (const auto* histogram = std::get_if<std::unique_ptr<Histogram>>(&metric)) {
      render_histogram(text, name, labels, **histogram);
    }
  }
};

struct MetricsRegistry::Family {
  std::string help;
  std::string_view kind;
  std::map<std::string, Series> series;  // by label text
};

MetricsRegistry::MetricsRegistry() = default;
MetricsRegistry::~MetricsRegistry() = default;

// The caller holds mutex_.
MetricsRegistry::Series& MetricsRegistry::add_series(std::string_view name, std::string_view help,
                                                     std::string_view kind, const MetricLabels& labels) {
  NARU_ASSERT(is_metric_name(name), "'{}' is not a metric name", name);
  NARU_ASSERT((kind == "counter") == name.ends_with("_total"), "{}: counters, and only they, end in _total", name);
  auto found = families_.find(name);
  if (found == families_.end()) {
    found = families_.emplace(name, std::make_unique<Family>(Family{std::string(help), kind, {}})).first;
  }
  Family& family = *found->second;
  NARU_ASSERT(family.kind == kind && family.help == help, "{} is registered with another kind or help", name);
  const auto [series, is_new] = family.series.try_emplace(label_text(labels));
  NARU_ASSERT(is_new, "{}{} is registered twice", name, braces(series->first));
  return series->second;
}

Counter& MetricsRegistry::counter(std::string_view name, std::string_view help, const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  return *add_series(name, help, "counter", labels).metric.emplace<std::unique_ptr<Counter>>(new Counter);
}

Gauge& MetricsRegistry::gauge(std::string_view name, std::string_view help, const MetricLabels& labels) {
  const std::lock_guard lock(mutex_);
  return *add_series(name, help, "gauge", labels).metric.emplace<std::unique_ptr<Gauge>>(new Gauge);
}

Histogram& MetricsRegistry::histogram(std::string_view name, std::string_view help, const HistogramScale& scale,
                                      const MetricLabels& labels) {
  NARU_ASSERT(scale.first > 0 && scale.buckets > 0 && scale.buckets <= Histogram::kMaxBuckets, "{}: {} buckets from {}",
              name, scale.buckets, scale.first);
  const std::lock_guard lock(mutex_);
  return *add_series(name, help, "histogram", labels).metric.emplace<std::unique_ptr<Histogram>>(new Histogram(scale));
}

GaugeCallback MetricsRegistry::computed_gauge(std::string_view name, std::string_view help, const MetricLabels& labels,
                                              UniqueFunction<double()> read) {
  const std::lock_guard lock(mutex_);
  const uint64_t id = next_callback_++;
  add_series(name, help, "gauge", labels).metric.emplace<Callback>(std::move(read));
  callbacks_.emplace(id, Place{std::string(name), label_text(labels)});
  return GaugeCallback(this, id);
}

void MetricsRegistry::remove_callback(uint64_t id) {
  const std::lock_guard lock(mutex_);
  const auto place = callbacks_.find(id);
  const auto family = families_.find(place->second.family);
  family->second->series.erase(place->second.labels);
  if (family->second->series.empty()) families_.erase(family);
  callbacks_.erase(place);
}

std::string MetricsRegistry::render_prometheus() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (const auto& [name, family] : families_) {
    fmt::format_to(std::back_inserter(text), "# HELP {} {}\n# TYPE {} {}\n", name, escape(family->help, false), name,
                   family->kind);
    for (auto& [labels, series] : family->series) series.render(text, name, labels);
  }
  return text;
}

GaugeCallback& GaugeCallback::operator=(GaugeCallback&& other) noexcept {
  if (this != &other) {
    unregister();
    registry_ = std::exchange(other.registry_, nullptr);
    id_ = other.id_;
  }
  return *this;
}

void GaugeCallback::unregister() {
  if (registry_ != nullptr) std::exchange(registry_, nullptr)->remove_callback(id_);
}

}  // namespace naru
