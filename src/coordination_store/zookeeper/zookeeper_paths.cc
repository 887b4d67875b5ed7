#include "coordination_store/zookeeper/zookeeper_paths.h"

#include <utility>

namespace naru {
namespace {

constexpr char kFolderMark = ':';
constexpr char kValueMark = '=';

}  // namespace

std::string ZooKeeperPaths::value_node(std::string_view key) const {
  const size_t slash = key.rfind('/');
  const size_t name = slash == std::string_view::npos ? 0 : slash + 1;
  std::string node = folder_node(key.substr(0, name));
  node += '/';
  node += key.substr(name);
  node += kValueMark;
  return node;
}

std::string ZooKeeperPaths::folder_node(std::string_view folder) const {
  std::string node = root_;
  while (!folder.empty()) {
    const size_t slash = folder.find('/');
    node += '/';
    node += folder.substr(0, slash);
    node += kFolderMark;
    folder.remove_prefix(slash + 1);
  }
  return node;
}

std::vector<std::string> ZooKeeperPaths::folders_of(std::string_view key) {
  std::vector<std::string> folders;
  for (size_t slash = key.find('/'); slash != std::string_view::npos; slash = key.find('/', slash + 1)) {
    folders.emplace_back(key.substr(0, slash + 1));
  }
  return folders;
}

std::optional<std::string> ZooKeeperPaths::subject_of(std::string_view node) const {
  if (!node.starts_with(root_)) return std::nullopt;
  node.remove_prefix(root_.size());
  std::string subject;
  while (!node.empty()) {
    if (node.front() != '/') return std::nullopt;
    node.remove_prefix(1);
    const std::string_view name = node.substr(0, node.find('/'));
    node.remove_prefix(name.size());
    if (name.size() < 2) return std::nullopt;
    subject += name.substr(0, name.size() - 1);
    if (name.back() == kFolderMark) {
      subject += '/';
    } else if (name.back() != kValueMark || !node.empty()) {
      return std::nullopt;
    }
  }
  return subject;
}

std::vector<std::string> ZooKeeperPaths::root_nodes() const {
  std::vector<std::string> nodes;
  for (size_t slash = root_.find('/', 1); slash != std::string::npos; slash = root_.find('/', slash + 1)) {
    nodes.push_back(root_.substr(0, slash));
  }
  nodes.push_back(root_);
  return nodes;
}

}  // namespace naru
