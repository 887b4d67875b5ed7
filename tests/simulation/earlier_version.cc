#include "simulation/earlier_version.h"

#include <string>

#include "foundation/bytes.h"
#include "log_storage/directory_identity.h"
#include "log_storage/old_file_names.h"

namespace naru::simulation {
namespace {

void rename_file(SimulatedFileSystem& disk, const std::string& path) {
  const std::string cleaned = ".cleaned";
  const bool is_cleaned = path.ends_with(cleaned);
  const std::string_view name = std::string_view(path).substr(0, path.size() - (is_cleaned ? cleaned.size() : 0));
  for (const RenamedSuffix& renamed : renamed_suffixes()) {
    if (!name.ends_with(renamed.suffix)) continue;
    std::string before(name.substr(0, name.size() - renamed.suffix.size()));
    before += renamed.old_suffix;
    if (is_cleaned) before += cleaned;
    ignore(disk.rename(path, before));
    return;
  }
}

void lower_data_format(SimulatedFileSystem& disk, const std::string& path) {
  const Bytes content = disk.content(path);
  std::string text(as_text(content));
  const std::string current = "naru.data.format=" + std::to_string(kDataFormatVersion) + "\n";
  const size_t at = text.find(current);
  if (at == std::string::npos) return;
  text.replace(at, current.size(), "naru.data.format=1\n");
  const std::string folder = path.substr(0, path.rfind('/'));
  ignore(replace_file(disk, folder, std::string(kIdentityFileName), as_bytes(text)));
}

}  // namespace

void rename_as_earlier_version(SimulatedFileSystem& disk) {
  for (const std::string& path : disk.files_below("/")) {
    if (path.ends_with(std::string("/") + std::string(kIdentityFileName))) {
      lower_data_format(disk, path);
    } else {
      rename_file(disk, path);
    }
  }
}

}  // namespace naru::simulation
