// ./dev fuzz handlers [--brokers N] [--seed N] [--requests N]: whole brokers under requests made from the schemas.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include <fmt/core.h>

#include "foundation/log.h"
#include "foundation/request_canary_testing.h"
#include "fuzzing/fuzz_round.h"

namespace {

using namespace naru;
using namespace naru::fuzzing;

const FuzzRound* current_round = nullptr;
std::string current_name;

bool canary_planted = false;

// The process is about to die of an assertion or a signal: whatever can still be said is worth saying.
void say_what_was_sent(int signal) {
  std::signal(signal, SIG_DFL);
  fmt::print("FAILED: {}: the process died of signal {}\n", current_name, signal);
  std::fflush(stdout);
  if (current_round != nullptr) fmt::print("{}", current_round->recent_requests());
  std::fflush(stdout);
  if (canary_planted) _exit(0);  // it was to be found
  std::raise(signal);
}

std::vector<Bytes> read_corpus(const std::string& path) {
  std::vector<Bytes> frames;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const std::string digits = line.substr(0, line.find_first_of(" #"));
    Bytes frame;
    for (size_t i = 0; i + 1 < digits.size(); i += 2) {
      frame.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
    }
    if (!frame.empty()) frames.push_back(std::move(frame));
  }
  return frames;
}

struct Options {
  uint64_t seed = 1;
  uint64_t requests = 20'000;
  uint64_t requests_per_round = 2'000;
  int brokers = 1;
  double min_success = 0;
  bool verbose = false;
  std::string corpus;
  std::string focus;
  std::optional<uint64_t> huge_one_in;
  bool roomy = false;
  std::vector<std::string> waived;
  std::string canary;
};

// True: nothing was found.
bool fuzz(const Options& options, FuzzReport& all) {
  RoundOptions round{.seed = options.seed, .brokers = options.brokers};
  for (const auto& [demand, name] : kDemands) {
    if (std::ranges::find(options.waived, name) != options.waived.end()) round.waived.insert(demand);
  }
  if (!options.corpus.empty()) round.corpus = read_corpus(options.corpus);
  round.huge_one_in = options.huge_one_in;
  round.roomy = options.roomy;
  if (!options.focus.empty()) {
    const auto* found = std::ranges::find(kafka::kApiTable, options.focus, &kafka::ApiRow::name);
    round.focus = static_cast<size_t>(found - kafka::kApiTable.begin());
  }
  uint64_t bad = 0;
  for (; all.requests < options.requests; ++round.seed) {
    round.requests = std::min(options.requests_per_round, options.requests - all.requests);
    current_name = fmt::format("--brokers {} --seed {} --requests {}{}", round.brokers, round.seed, round.requests,
                               round.roomy ? " --roomy" : "");
    FuzzRound run(round);
    current_round = &run;
    if (const auto problem = run.run()) {
      ++bad;
      fmt::print("FAILED: {}: {}\n", current_name, *problem);
      std::fflush(stdout);
    }
    current_round = nullptr;
    round.corpus.clear();
    all.add(run.report());
    if (run.report().requests == 0 || (bad > 0 && canary_planted)) break;
  }
  return bad == 0;
}

bool enough_successes(const FuzzReport& report, double least) {
  constexpr uint64_t kEnough = 100;
  bool enough = true;
  for (size_t i = 0; i < report.apis.size(); ++i) {
    if (report.apis[i].requests < kEnough || FuzzReport::success_rate(report.apis[i]) >= least) continue;
    fmt::print("FAILED: fewer than {:.0f} % of the {} requests succeed\n", 100 * least, kafka::kApiTable[i].name);
    enough = false;
  }
  return enough;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{
      "Sends requests that are made from the schemas to whole brokers in virtual time. A seed repeats a round."};
  Options options;
  std::vector<std::string> demands, apis, canaries;
  for (const auto& [canary, name] : kRequestCanaries) canaries.emplace_back(name);
  for (const kafka::ApiRow& row : kafka::kApiTable) apis.emplace_back(row.name);
  for (const auto& [demand, name] : kDemands) demands.emplace_back(name);
  app.add_option("--brokers", options.brokers, "Number of brokers")->check(CLI::IsMember({1, 3}));
  app.add_option("--seed", options.seed, "Seed of the first round");
  app.add_option("--requests", options.requests, "Number of requests in all rounds");
  app.add_option("--round", options.requests_per_round, "Number of requests in one round");
  app.add_option("--corpus", options.corpus, "File of frames to send first, one in hexadecimal digits per line");
  app.add_option("--waive", options.waived, "Demand to leave out")->check(CLI::IsMember(demands));
  app.add_option("--focus", options.focus, "API that gets a third of the requests")->check(CLI::IsMember(apis));
  app.add_option("--huge", options.huge_one_in, "One in so many mutated requests is large; 0: none");
  app.add_flag("--roomy", options.roomy, "Default memory budget, larger requests and many groups in every round");
  app.add_option("--min-success", options.min_success, "Least share of successes of each API");
  app.add_option("--canary", options.canary, "Plant this bug, and succeed if it is found")
      ->check(CLI::IsMember(canaries));
  app.add_flag("--verbose", options.verbose, "Show the brokers' log");
  CLI11_PARSE(app, argc, argv);

  if (!options.verbose) silence_log();
  if (!options.canary.empty()) {
    plant(std::ranges::find(kRequestCanaries, options.canary, &RequestCanaryName::name)->canary);
    canary_planted = true;
  }
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, say_what_was_sent);
  FuzzReport report;
  const auto begun = std::chrono::steady_clock::now();
  bool clean = fuzz(options, report);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
  fmt::print("{}{:.0f} requests per second\n", report.table(), static_cast<double>(report.requests) / seconds);
  if (canary_planted) {
    if (clean) fmt::print("FAILED: {} was not found\n", options.canary);
    return clean ? 1 : 0;
  }
  clean = enough_successes(report, options.min_success) && clean;
  return clean ? 0 : 1;
}
