#include "observability/metrics_registry.h"

#include <gtest/gtest.h>

#include <thread>

namespace naru {
namespace {

TEST(MetricsRegistry, RendersPrometheusTextSortedByNameAndLabels) {
  MetricsRegistry registry;
  registry.counter("naru_requests_total", "Requests.", {{"api", "Produce"}, {"error", "none"}}).add(3);
  registry.counter("naru_requests_total", "Requests.", {{"api", "Fetch"}, {"error", "none"}}).add();
  registry.gauge("naru_connections", "Open connections.").set(-2);
  const GaugeCallback uptime =
      registry.computed_gauge("naru_uptime_seconds", "Since the start.", {}, [] { return 1.5; });
  Histogram& histogram = registry.histogram("naru_batch_bytes", "Sizes.", {100, 3, 1}, {{"topic", "a"}});
  for (const uint64_t size : {0, 100, 101, 200, 400, 401}) histogram.record(size);

  EXPECT_EQ(registry.render_prometheus(), R"(# HELP naru_batch_bytes Sizes.
# TYPE naru_batch_bytes histogram
naru_batch_bytes_bucket{topic="a",le="100"} 2
naru_batch_bytes_bucket{topic="a",le="200"} 4
naru_batch_bytes_bucket{topic="a",le="400"} 5
naru_batch_bytes_bucket{topic="a",le="+Inf"} 6
naru_batch_bytes_sum{topic="a"} 1202
naru_batch_bytes_count{topic="a"} 6
# HELP naru_connections Open connections.
# TYPE naru_connections gauge
naru_connections -2
# HELP naru_requests_total Requests.
# TYPE naru_requests_total counter
naru_requests_total{api="Fetch",error="none"} 1
naru_requests_total{api="Produce",error="none"} 3
# HELP naru_uptime_seconds Since the start.
# TYPE naru_uptime_seconds gauge
naru_uptime_seconds 1.5
)");
}

TEST(MetricsRegistry, EscapesHelpAndLabelValues) {
  MetricsRegistry registry;
  registry.gauge("naru_x", "a \"quoted\" \\ and\nbroken line", {{"topic", "a\"b\\c\nd"}});
  EXPECT_EQ(registry.render_prometheus(),
            "# HELP naru_x a \"quoted\" \\\\ and\\nbroken line\n# TYPE naru_x gauge\n"
            "naru_x{topic=\"a\\\"b\\\\c\\nd\"} 0\n");
}

TEST(MetricsRegistry, LatencyBucketsAreInSecondsAndReachTwentySeconds) {
  MetricsRegistry registry;
  Histogram& histogram = registry.histogram("naru_request_seconds", "Latency.", kLatencyScale);
  histogram.record(Duration(10us));
  histogram.record(Duration(1h));
  histogram.record(Duration(-1ns));
  const std::string text = registry.render_prometheus();
  EXPECT_NE(text.find("le=\"1e-05\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("le=\"20.9715\"} 2\n"), std::string::npos) << text;
  EXPECT_NE(text.find("le=\"+Inf\"} 3\n"), std::string::npos) << text;
  EXPECT_NE(text.find("naru_request_seconds_sum 3600.00001\n"), std::string::npos) << text;
}

TEST(MetricsRegistry, EveryValueLandsInTheFirstBucketThatCoversIt) {
  constexpr HistogramScale kScale{7, 10, 1};
  for (uint64_t value = 0; value < 8000; ++value) {
    Histogram histogram(kScale);
    histogram.record(value);
    const auto counts = histogram.snapshot().counts;
    size_t expected = 0;
    while (expected < kScale.buckets && value > (kScale.first << expected)) ++expected;
    ASSERT_EQ(counts[expected], 1u) << value;
  }
}

TEST(MetricsRegistry, AComputedGaugeGoesAwayWithItsCallback) {
  MetricsRegistry registry;
  {
    GaugeCallback outer;
    {
      GaugeCallback inner = registry.computed_gauge("naru_x", "X.", {}, [] { return 7.0; });
      outer = std::move(inner);
    }
    EXPECT_NE(registry.render_prometheus().find("naru_x 7\n"), std::string::npos);
  }
  EXPECT_EQ(registry.render_prometheus(), "");
}

TEST(MetricsRegistry, CountsFromManyThreadsAreAllThere) {
  MetricsRegistry registry;
  Counter& counter = registry.counter("naru_x_total", "X.");
  Histogram& histogram = registry.histogram("naru_y", "Y.", kSizeScale);
  constexpr int kThreads = 12;
  constexpr int kEach = 20'000;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        counter.add();
        histogram.record(uint64_t{1});
      }
    });
  }
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(registry.render_prometheus().empty()) << "rendering meanwhile is allowed";
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter.value(), uint64_t{kThreads} * kEach);
  EXPECT_EQ(histogram.snapshot().sum, uint64_t{kThreads} * kEach);
}

TEST(MetricsRegistryDeathTest, RegisteringTheSameSeriesTwiceIsOurMistake) {
  MetricsRegistry registry;
  registry.counter("naru_x_total", "X.", {{"a", "b"}});
  EXPECT_DEATH(registry.counter("naru_x_total", "X.", {{"a", "b"}}), "registered twice");
  EXPECT_DEATH(registry.gauge("naru_x_total", "X."), "_total");
}

}  // namespace
}  // namespace naru
