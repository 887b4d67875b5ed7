#include "platform/simulated/name_tree.h"

#include <algorithm>
#include <utility>

#include "foundation/assert.h"

namespace naru {
namespace {

std::vector<std::string> split_path(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    if (!name.empty() && name != ".") names.emplace_back(name);
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return names;
}

void visit_files(const NameTree::Inode& directory, const UniqueFunction<void(SimulatedInode&) const>& visit) {
  for (const auto& [name, inode] : directory->names) {
    if (inode->is_directory) {
      visit_files(inode, visit);
    } else {
      visit(*inode);
    }
  }
}

// The crashed machine's memory is gone: names are the durable ones, contents what the crash left of them.
void revert_to_durable(const NameTree::Inode& directory, Unsynced unsynced, Random& random) {
  directory->names = directory->durable_names;
  for (const auto& [name, inode] : directory->names) {
    if (inode->is_directory) {
      revert_to_durable(inode, unsynced, random);
    } else {
      inode->content.crash(unsynced, random);
      if (unsynced != Unsynced::kept) inode->modified_ms = inode->durable_modified_ms;
    }
  }
}

void drop_unsynced(const NameTree::Inode& inode) {
  class NoRandom final : public Random {
   public:
    uint64_t next() override { return 0; }
  } never_asked;
  if (!inode->is_directory) return inode->content.crash(Unsynced::lost, never_asked);
  revert_to_durable(inode, Unsynced::lost, never_asked);
}

// Every inode is copied once, however many names lead to it.
class Cloner {
 public:
  NameTree::Inode copy(const NameTree::Inode& original) {
    if (!original) return nullptr;
    NameTree::Inode& made = copies_[original.get()];
    if (made) return made;
    made = std::make_shared<SimulatedInode>();
    const NameTree::Inode result = made;
    result->is_directory = original->is_directory;
    result->content = original->content;
    result->modified_ms = original->modified_ms;
    result->durable_modified_ms = original->durable_modified_ms;
    for (const auto& [name, inode] : original->names) result->names.emplace(name, copy(inode));
    for (const auto& [name, inode] : original->durable_names) result->durable_names.emplace(name, copy(inode));
    return result;
  }

 private:
  std::map<const SimulatedInode*, NameTree::Inode> copies_;
};

}  // namespace

NameTree::NameTree() : root_(std::make_shared<SimulatedInode>()) {
  root_->is_directory = true;
}

NameTree NameTree::clone() const {
  Cloner cloner;
  NameTree tree;
  tree.root_ = cloner.copy(root_);
  for (const Change& change : pending_) {
    tree.pending_.push_back({.from = {cloner.copy(change.from.directory), change.from.name},
                             .to = {cloner.copy(change.to.directory), change.to.name},
                             .inode = cloner.copy(change.inode)});
  }
  return tree;
}

Result<NameTree::Inode> NameTree::find(std::string_view path) const {
  Inode inode = root_;
  for (const std::string& name : split_path(path)) {
    if (!inode->is_directory) return failure(ErrorCode::io_error, "{}: not a directory", path);
    const auto found = inode->names.find(name);
    if (found == inode->names.end()) return failure(ErrorCode::not_found, "{}: no such file or directory", path);
    inode = found->second;
  }
  return inode;
}

Result<NameTree::Inode> NameTree::find_directory(std::string_view path) const {
  NARU_TRY_ASSIGN(Inode inode, find(path));
  if (!inode->is_directory) return failure(ErrorCode::io_error, "{}: not a directory", path);
  return inode;
}

Result<NameTree::Place> NameTree::locate(std::string_view path) const {
  const auto names = split_path(path);
  if (names.empty()) return failure(ErrorCode::io_error, "'{}': the root has no name to change", path);
  Inode directory = root_;
  for (size_t i = 0; i + 1 < names.size(); ++i) {
    const auto found = directory->names.find(names[i]);
    if (found == directory->names.end()) return failure(ErrorCode::not_found, "{}: no such directory", path);
    if (!found->second->is_directory) return failure(ErrorCode::io_error, "{}: not a directory", path);
    directory = found->second;
  }
  return Place{std::move(directory), names.back()};
}

Result<NameTree::Inode> NameTree::create(std::string_view path, bool is_directory) {
  NARU_TRY_ASSIGN(Place place, locate(path));
  if (place.directory->names.contains(place.name)) return failure(ErrorCode::already_exists, "{}: exists", path);
  auto inode = std::make_shared<SimulatedInode>();
  inode->is_directory = is_directory;
  change({.to = std::move(place), .inode = inode});
  return inode;
}

Status NameTree::rename(std::string_view from, std::string_view to) {
  NARU_TRY_ASSIGN(const Inode inode, find(from));
  NARU_TRY_ASSIGN(Place source, locate(from));
  NARU_TRY_ASSIGN(Place target, locate(to));
  const auto existing = target.directory->names.find(target.name);
  if (existing != target.directory->names.end()) {
    if (existing->second == inode) return Status();
    if (existing->second->is_directory || inode->is_directory) {
      return error(ErrorCode::already_exists, "{}: cannot replace {}", from, to);
    }
  }
  if (inode->is_directory && source.directory != target.directory) {
    return error(ErrorCode::io_error, "{}: a folder cannot move to another one", from);
  }
  change({.from = std::move(source), .to = std::move(target), .inode = inode});
  return Status();
}

Status NameTree::remove(std::string_view path, bool is_directory) {
  NARU_TRY_ASSIGN(const Inode inode, find(path));
  NARU_TRY_ASSIGN(Place place, locate(path));
  if (inode->is_directory != is_directory) return error(ErrorCode::io_error, "{}: wrong kind of entry", path);
  if (!inode->names.empty()) return error(ErrorCode::io_error, "{}: directory not empty", path);
  change({.from = std::move(place), .inode = inode});
  return Status();
}

void NameTree::sync(const Inode& directory) {
  // A file that moved away takes with it what happened before in the folder it moved to.
  std::map<const SimulatedInode*, size_t> settled_until{{directory.get(), pending_.size()}};
  for (size_t i = 0; i < pending_.size(); ++i) {
    const Change& change = pending_[i];
    if (change.from.directory == directory && change.home() != directory) settled_until[change.home().get()] = i + 1;
  }
  std::vector<Change> left;
  for (size_t i = 0; i < pending_.size(); ++i) {
    const auto settled = settled_until.find(pending_[i].home().get());
    if (settled != settled_until.end() && i < settled->second) {
      pending_[i].apply(&SimulatedInode::durable_names);
    } else {
      left.push_back(std::move(pending_[i]));
    }
  }
  pending_ = std::move(left);
}

void NameTree::crash(Unsynced unsynced, Survivors names, Random& random) {
  std::map<const SimulatedInode*, bool> undone;  // folders whose later changes are lost
  for (const Change& change : pending_) {
    bool& lost = undone[change.home().get()];
    if (names == Survivors::any) lost = false;
    lost = lost || unsynced == Unsynced::lost || (unsynced == Unsynced::mixed && random.one_in(3));
    if (!lost) change.apply(&SimulatedInode::durable_names);
  }
  pending_.clear();
  revert_to_durable(root_, unsynced, random);
}

NameTree::Inode NameTree::copy(std::string_view path) const {
  const auto found = find(path);
  if (!found) return nullptr;
  const Inode copied = Cloner().copy(*found);
  drop_unsynced(copied);
  return copied;
}

void NameTree::put(std::string_view path, const Inode& copied) {
  NARU_ASSERT(pending_.empty(), "{} is changed by hand while names are not synced", path);
  if (split_path(path).empty()) {
    root_ = Cloner().copy(copied);
    return;
  }
  const auto place = locate(path);
  NARU_ASSERT(place.has_value(), "{} is in a folder that does not exist", path);
  const Inode inode = Cloner().copy(copied);
  for (SimulatedInode::Names* names : {&place->directory->names, &place->directory->durable_names}) {
    names->erase(place->name);
    if (inode) names->emplace(place->name, inode);
  }
}

void NameTree::for_each_file(const UniqueFunction<void(SimulatedInode&) const>& visit) const {
  visit_files(root_, visit);
}

void NameTree::change(Change change) {
  change.apply(&SimulatedInode::names);
  pending_.push_back(std::move(change));
}

void NameTree::Change::apply(SimulatedInode::Names SimulatedInode::* names) const {
  if (from.directory) {
    auto& entries = (*from.directory).*names;
    const auto found = entries.find(from.name);
    if (found != entries.end() && found->second == inode) entries.erase(found);
  }
  if (to.directory) ((*to.directory).*names)[to.name] = inode;
}

}  // namespace naru
