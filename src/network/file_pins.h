// How many files answers keep open until their clients have taken them: in total, and for each connection. A client
// that does not read would otherwise use up the descriptors of the process.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

namespace naru {

// The files that the answers of one connection keep open; outlives the connection if answers do.
using PinnedFiles = std::shared_ptr<std::atomic<size_t>>;

class FilePins;

// A number of files that may be kept open; gives them back when destroyed. Must not outlive its FilePins.
class FilePinLease {
 public:
  FilePinLease() = default;
  FilePinLease(FilePinLease&& other) noexcept
      : pins_(std::exchange(other.pins_, nullptr)),
        of_connection_(std::move(other.of_connection_)),
        files_(std::exchange(other.files_, 0)) {}
  FilePinLease& operator=(FilePinLease&& other) noexcept {
    if (this == &other) return *this;
    shrink_to(0);
    pins_ = std::exchange(other.pins_, nullptr);
    of_connection_ = std::move(other.of_connection_);
    files_ = std::exchange(other.files_, 0);
    return *this;
  }
  ~FilePinLease() { shrink_to(0); }

  size_t files() const { return files_; }
  void shrink_to(size_t files);

 private:
  friend class FilePins;
  FilePinLease(FilePins* pins, PinnedFiles of_connection, size_t files)
      : pins_(pins), of_connection_(std::move(of_connection)), files_(files) {}

  FilePins* pins_ = nullptr;
  PinnedFiles of_connection_;
  size_t files_ = 0;
};

// Thread-safe.
class FilePins {
 public:
  FilePins(size_t total, size_t per_connection) : total_(total), per_connection_(per_connection) {}
  FilePins(const FilePins&) = delete;
  FilePins& operator=(const FilePins&) = delete;

  // Up to `files` of them, as many as the total and the connection's share leave; none if nothing is left.
  FilePinLease take(const PinnedFiles& of_connection, size_t files) {
    const size_t of_share = take_of(*of_connection, per_connection_, files);
    const size_t taken = take_of(used_, total_, of_share);
    of_connection->fetch_sub(of_share - taken, std::memory_order_relaxed);
    return {this, of_connection, taken};
  }
  // All of them, whatever the limits are: for whoever is known to read its answers.
  FilePinLease take_beyond(const PinnedFiles& of_connection, size_t files) {
    of_connection->fetch_add(files, std::memory_order_relaxed);
    used_.fetch_add(files, std::memory_order_relaxed);
    return {this, of_connection, files};
  }

  size_t used() const { return used_.load(std::memory_order_relaxed); }
  size_t total() const { return total_; }

 private:
  friend class FilePinLease;

  static size_t take_of(std::atomic<size_t>& used, size_t limit, size_t files) {
    size_t before = used.load(std::memory_order_relaxed);
    for (;;) {
      const size_t taken = before < limit ? std::min(files, limit - before) : 0;
      if (used.compare_exchange_weak(before, before + taken, std::memory_order_relaxed)) return taken;
    }
  }

  const size_t total_;
  const size_t per_connection_;
  std::atomic<size_t> used_{0};
};

inline void FilePinLease::shrink_to(size_t files) {
  if (files >= files_) return;
  of_connection_->fetch_sub(files_ - files, std::memory_order_relaxed);
  pins_->used_.fetch_sub(files_ - files, std::memory_order_relaxed);
  files_ = files;
}

}  // namespace naru
