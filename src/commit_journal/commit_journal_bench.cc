// What durability costs on this machine's disk, by the ways to get it. Prints two tables for the decision record
// docs/decisions/0005-commit-journal.md. Takes the folder to work in, by default the system's for temporary files.
//
//   1. One round: 1 KiB is appended to each of N files, then all of it is made durable.
//   2. One batch of S bytes is appended to one file, then made durable: by a sync of that file, or through the journal.
//
// The ways take turns, several times; a cell is the median of the turns' percentiles, with the smallest and the
// largest.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "commit_journal/journal_file.h"
#include "platform/real/posix_file_system.h"
#include "platform/real/real_random.h"

namespace naru {
namespace {

constexpr int kTurns = 3;
constexpr uint64_t kRingBytes = 128u << 20;

template <class T>
T must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "{}\n", result.error().to_string());
  std::exit(1);
}
void must(const Status& status) {
  if (status.ok()) return;
  fmt::print(stderr, "{}\n", status.to_string());
  std::exit(1);
}

class Folder {
 public:
  explicit Folder(const std::string& parent) : path_(parent + "/naru-bench-" + std::to_string(::getpid())) {
    std::filesystem::create_directories(path_);
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class Bench {
 public:
  explicit Bench(const std::string& folder)
      : folder_(folder), journal_(must(JournalFile::create(files_, folder, kRingBytes, random_))) {}

  enum class Way { each_file, each_file_8_threads, whole_file_system, journal };

  // Microseconds of each round.
  std::vector<double> rounds(Way way, size_t files, size_t bytes, int count) {
    open_files(files);
    const Bytes batch(bytes, std::byte{'x'});
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      const auto begun = std::chrono::steady_clock::now();
      for (size_t file = 0; file < files; ++file) must(logs_[file]->write_at(size_, batch));
      size_ += bytes;
      make_durable(way, batch);
      times.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begun).count());
    }
    logs_.clear();
    return times;
  }

 private:
  // New ones: equal for all ways.
  void open_files(size_t count) {
    size_ = 0;
    for (size_t i = 0; i < count; ++i) {
      const std::string path = fmt::format("{}/{}.log", folder_, i);
      std::filesystem::remove(path);
      logs_.push_back(must(files_.open(path, OpenMode::create_new)));
    }
    must(files_.sync_directory(folder_));
  }

  void make_durable(Way way, const Bytes& batch) {
    switch (way) {
      case Way::each_file:
        for (const auto& log : logs_) must(log->sync_data());
        return;
      case Way::each_file_8_threads:
        return sync_with_threads(8);
      case Way::whole_file_system:
        if (::syncfs(logs_.front()->descriptor()) != 0) std::exit(1);
        return;
      case Way::journal: {
        const std::vector<BytesView> parts(logs_.size(), batch);
        const uint64_t length = round_up_to_blocks(parts.size() * batch.size());
        if (position_ % kRingBytes + length > kRingBytes) position_ += kRingBytes - position_ % kRingBytes;
        must(journal_.write_round(position_, parts));
        position_ += length;
        return;
      }
    }
  }

  void sync_with_threads(size_t count) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (size_t i = 0; i < std::min(count, logs_.size()); ++i) {
      threads.emplace_back([&] {
        for (size_t file = next++; file < logs_.size(); file = next++) must(logs_[file]->sync_data());
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  const std::string folder_;
  PosixFileSystem files_;
  RealRandom random_;
  JournalFile journal_;
  uint64_t position_ = 0;
  std::vector<std::shared_ptr<File>> logs_;
  uint64_t size_ = 0;
};

double percentile(std::vector<double> times, double share) {
  std::ranges::sort(times);
  return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
}

// Of one way: the percentiles of each turn.
struct Cell {
  std::vector<double> p50, p99;
  void add(const std::vector<double>& times) {
    p50.push_back(percentile(times, 0.5));
    p99.push_back(percentile(times, 0.99));
  }
  static std::string text(std::vector<double> values) {
    std::ranges::sort(values);
    return fmt::format("{:.0f} [{:.0f}-{:.0f}]", values[values.size() / 2], values.front(), values.back());
  }
  std::string text() const { return text(p50) + " / " + text(p99); }
};

void many_files(Bench& bench) {
  using enum Bench::Way;
  fmt::print(
      "\n| N | fdatasync each, one thread | 8 threads | one syncfs | journal |\n| --- | --- | --- | --- | --- |\n");
  for (const size_t files : {1, 10, 100, 1000}) {
    const int rounds = files >= 1000 ? 20 : files >= 100 ? 60 : 300;
    std::vector<Cell> cells(4);
    for (int turn = 0; turn < kTurns; ++turn) {
      size_t column = 0;
      for (const auto way : {each_file, each_file_8_threads, whole_file_system, journal}) {
        cells[column++].add(bench.rounds(way, files, 1024, way == journal ? rounds * 5 : rounds));
      }
    }
    fmt::print("| {} |", files);
    for (const Cell& cell : cells) fmt::print(" {} |", cell.text());
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void batch_sizes(Bench& bench) {
  using enum Bench::Way;
  fmt::print("\n| bytes | fdatasync of the log | journal |\n| --- | --- | --- |\n");
  for (const size_t bytes : {1u << 10, 4u << 10, 16u << 10, 64u << 10, 128u << 10, 256u << 10, 512u << 10, 1u << 20}) {
    std::vector<Cell> cells(2);
    for (int turn = 0; turn < kTurns; ++turn) {
      cells[0].add(bench.rounds(each_file, 1, bytes, 200));
      cells[1].add(bench.rounds(journal, 1, bytes, 200));
    }
    fmt::print("| {} | {} | {} |\n", bytes, cells[0].text(), cells[1].text());
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace naru

int main(int argc, char** argv) {
  const naru::Folder folder(argc > 1 ? argv[1] : std::filesystem::temp_directory_path().string());
  naru::Bench bench(folder.path());
  fmt::print("microseconds, p50 / p99, each the median of {} turns [smallest-largest]\n", naru::kTurns);
  naru::many_files(bench);
  naru::batch_sizes(bench);
}
