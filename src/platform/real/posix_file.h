// One open file of the operating system.
#pragma once

#include <string>

#include "platform/file_system.h"
#include "platform/real/unique_descriptor.h"

namespace naru {

class PosixFile final : public File {
 public:
  PosixFile(UniqueDescriptor descriptor, std::string path)
      : descriptor_(std::move(descriptor)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }
  Result<size_t> read_at(uint64_t position, MutableBytesView to) const override;
  Status write_at(uint64_t position, std::span<const BytesView> parts) override;
  Result<uint64_t> size() const override;
  Status truncate(uint64_t size) override;
  Result<WallTimeMs> modified_ms() const override;
  Status set_modified_ms(WallTimeMs time) override;
  Status sync_data() override;
  bool is_cached(uint64_t position, uint64_t length) const override;
  void warm(uint64_t position, uint64_t length) const override;
  int descriptor() const override { return descriptor_.get(); }

 private:
  const UniqueDescriptor descriptor_;
  const std::string path_;
};

}  // namespace naru
