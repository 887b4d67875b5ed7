// Which ZooKeeper node a key is. No I/O.
//
// A key may have a value and keys beneath it at once ("topics" and "topics/a"), but a node of ZooKeeper that is
// ephemeral has no children. So values and folders are different nodes: with the root /naru, the value of "topics/a" is
// the node /naru/topics:/a= and the folder "topics/" is /naru/topics: (persistent, empty, never deleted).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace naru {

class ZooKeeperPaths {
 public:
  // `root` begins with a slash and does not end with one.
  explicit ZooKeeperPaths(std::string root) : root_(std::move(root)) {}

  const std::string& root() const { return root_; }
  std::string value_node(std::string_view key) const;
  // `folder` is empty or ends with a slash.
  std::string folder_node(std::string_view folder) const;
  // The folders that a key lies in, outermost first: "a/b/c" lies in "a/" and "a/b/".
  static std::vector<std::string> folders_of(std::string_view key);
  // The key of a value node, the folder of a folder node ("" for the root), or nothing for what is neither.
  std::optional<std::string> subject_of(std::string_view node) const;
  // The root and the nodes above it, outermost first.
  std::vector<std::string> root_nodes() const;

 private:
  std::string root_;
};

}  // namespace naru
