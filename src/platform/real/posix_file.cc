#include "platform/real/posix_file.h"

#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "platform/real/os_error.h"

namespace naru {
namespace {

constexpr size_t kPartsPerCall = 64;
constexpr uint64_t kProbeStepBytes = 64 * 1024;
constexpr size_t kWarmBufferBytes = 256 * 1024;

// The parts that are still to be written: drops what a short write has done.
class PartsLeft {
 public:
  explicit PartsLeft(std::span<const BytesView> parts) : parts_(parts) { skip_empty(); }

  bool empty() const { return next_ == parts_.size(); }
  std::span<const iovec> first_few() {
    size_t count = 0;
    for (size_t i = next_; i < parts_.size() && count < kPartsPerCall; ++i) {
      const BytesView part = parts_[i].subspan(i == next_ ? done_of_next_ : 0);
      if (part.empty()) continue;
      vectors_[count++] = {const_cast<std::byte*>(part.data()), part.size()};  // the kernel only reads it
    }
    return {vectors_.data(), count};
  }
  void drop(size_t bytes) {
    done_of_next_ += bytes;
    skip_empty();
  }

 private:
  void skip_empty() {
    while (next_ < parts_.size() && done_of_next_ >= parts_[next_].size()) done_of_next_ -= parts_[next_++].size();
  }

  std::span<const BytesView> parts_;
  size_t next_ = 0;
  size_t done_of_next_ = 0;
  std::array<iovec, kPartsPerCall> vectors_;
};

}  // namespace

Result<size_t> PosixFile::read_at(uint64_t position, MutableBytesView to) const {
  size_t done = 0;
  while (done < to.size()) {
    const ssize_t got = retry_interrupted(
        [&] { return ::pread(descriptor(), to.data() + done, to.size() - done, static_cast<off_t>(position + done)); });
    if (got < 0) return failure(os_error(errno, "read", path_));
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

Status PosixFile::write_at(uint64_t position, std::span<const BytesView> parts) {
  PartsLeft left(parts);
  while (!left.empty()) {
    const auto vectors = left.first_few();
    const ssize_t written = retry_interrupted([&] {
      return ::pwritev(descriptor(), vectors.data(), static_cast<int>(vectors.size()), static_cast<off_t>(position));
    });
    if (written < 0) return os_error(errno, "write", path_);
    if (written == 0) return error(ErrorCode::io_error, "write {}: nothing was written", path_);
    left.drop(static_cast<size_t>(written));
    position += static_cast<uint64_t>(written);
  }
  return Status();
}

Result<uint64_t> PosixFile::size() const {
  struct stat information{};
  if (::fstat(descriptor(), &information) != 0) return failure(os_error(errno, "stat", path_));
  return static_cast<uint64_t>(information.st_size);
}

Status PosixFile::truncate(uint64_t size) {
  const int result = retry_interrupted([&] { return ::ftruncate(descriptor(), static_cast<off_t>(size)); });
  return result == 0 ? Status() : os_error(errno, "truncate", path_);
}

Result<WallTimeMs> PosixFile::modified_ms() const {
  struct stat information{};
  if (::fstat(descriptor(), &information) != 0) return failure(os_error(errno, "stat", path_));
  return WallTimeMs{information.st_mtim.tv_sec} * 1000 + information.st_mtim.tv_nsec / 1'000'000;
}

Status PosixFile::set_modified_ms(WallTimeMs time) {
  // Seconds are rounded down, also before 1970: nanoseconds count upwards.
  const WallTimeMs seconds = time / 1000 - (time % 1000 < 0 ? 1 : 0);
  const timespec modified{.tv_sec = seconds, .tv_nsec = (time - seconds * 1000) * 1'000'000};
  const std::array<timespec, 2> times{timespec{.tv_sec = 0, .tv_nsec = UTIME_OMIT}, modified};
  return ::futimens(descriptor(), times.data()) == 0 ? Status() : os_error(errno, "set the time of", path_);
}

Status PosixFile::sync_data() {
  // Not repeated after an error: the kernel reports a lost page once and then calls it clean.
  return ::fdatasync(descriptor()) == 0 ? Status() : os_error(errno, "sync", path_);
}

bool PosixFile::is_cached(uint64_t position, uint64_t length) const {
  const auto probe = [this](uint64_t at) {
    std::byte byte;
    const iovec vector{&byte, 1};
    // A file system that cannot answer without blocking counts as cold.
    return ::preadv2(descriptor(), &vector, 1, static_cast<off_t>(at), RWF_NOWAIT) >= 0;
  };
  for (uint64_t at = 0; at < length; at += kProbeStepBytes) {
    if (!probe(position + at)) return false;
  }
  return length == 0 || probe(position + length - 1);
}

void PosixFile::warm(uint64_t position, uint64_t length) const {
  Bytes scratch(std::min<uint64_t>(length, kWarmBufferBytes));
  for (uint64_t done = 0; done < length;) {
    const auto got = read_at(position + done, MutableBytesView(scratch).first(std::min(scratch.size(), length - done)));
    if (!got || *got == 0) return;  // the reader proper will meet the same error, and report it
    done += *got;
  }
}

}  // namespace naru
