#include "platform/file_system.h"

namespace naru {

Result<Bytes> read_whole_file(FileSystem& file_system, const std::string& path, uint64_t limit) {
  NARU_TRY_ASSIGN(const auto file, file_system.open(path, OpenMode::read));
  NARU_TRY_ASSIGN(const uint64_t size, file->size());
  if (size > limit)
    return failure(ErrorCode::corrupt_data, "{} has {} bytes, more than the {} expected", path, size, limit);
  Bytes content(size);
  NARU_TRY_ASSIGN(const size_t got, file->read_at(0, content));
  content.resize(got);
  return content;
}

Status replace_file(FileSystem& file_system, const std::string& directory, const std::string& name, BytesView content) {
  const std::string path = directory + "/" + name;
  const std::string aside = path + ".tmp";
  {
    NARU_TRY_ASSIGN(const auto file, file_system.open(aside, OpenMode::create));
    NARU_TRY(file->truncate(0));
    NARU_TRY(file->write_at(0, content));
    NARU_TRY(file->sync_data());
  }
  NARU_TRY(file_system.rename(aside, path));
  return file_system.sync_directory(directory);
}

Status remove_recursively(FileSystem& file_system, const std::string& directory) {
  NARU_TRY_ASSIGN(const auto entries, file_system.list(directory));
  for (const DirectoryEntry& entry : entries) {
    const std::string path = directory + "/" + entry.name;
    NARU_TRY(entry.is_directory ? remove_recursively(file_system, path) : file_system.remove_file(path));
  }
  return file_system.remove_directory(directory);
}

}  // namespace naru
