// The folders of a simulated disk. Every change of a name is pending until its folder is synced; a crash keeps, for
// each folder, the changes up to some random moment and undoes the later ones; or any of them and not the others.
//
// A file moved between folders changes both at once (that is atomic), and either folder's sync makes it durable.
// Folders are renamed within their parent only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "foundation/function.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "platform/simulated/cached_content.h"

namespace naru {

struct SimulatedInode {
  using Names = std::map<std::string, std::shared_ptr<SimulatedInode>>;

  bool is_directory = false;
  CachedContent content;  // of a file
  WallTimeMs modified_ms = 0;
  WallTimeMs durable_modified_ms = 0;  // as of its last sync
  uint64_t write_back_failures = 0;
  Names names;          // of a folder: as seen now,
  Names durable_names;  // and as of its last sync
};

class NameTree {
 public:
  using Inode = std::shared_ptr<SimulatedInode>;

  NameTree();
  // Copies everything, sharing the blocks of the files.
  NameTree clone() const;

  // ErrorCode::not_found when the last name or a folder on the way is missing.
  Result<Inode> find(std::string_view path) const;
  Result<Inode> find_directory(std::string_view path) const;
  Result<Inode> create(std::string_view path, bool is_directory);
  Status rename(std::string_view from, std::string_view to);
  Status remove(std::string_view path, bool is_directory);

  void sync(const Inode& directory);
  // What a crash may keep of the pending changes of a folder: those before some moment, or any of them.
  enum class Survivors : uint8_t { first_ones, any };
  void crash(Unsynced unsynced, Survivors names, Random& random);

  // By hand, while nothing is pending: what a path leads to as of the last syncs, and putting that there again. Null:
  // there is nothing, or nothing is to be there.
  Inode copy(std::string_view path) const;
  void put(std::string_view path, const Inode& copied);
  // In the order of the names.
  void for_each_file(const UniqueFunction<void(SimulatedInode&) const>& visit) const;

 private:
  struct Place {
    Inode directory;
    std::string name;
  };
  // A name that goes (from), a name that comes (to), or both.
  struct Change {
    Place from;
    Place to;
    Inode inode;

    const Inode& home() const { return to.directory ? to.directory : from.directory; }
    void apply(SimulatedInode::Names SimulatedInode::* names) const;
  };

  Result<Place> locate(std::string_view path) const;
  void change(Change change);

  Inode root_;
  std::vector<Change> pending_;
};

}  // namespace naru
