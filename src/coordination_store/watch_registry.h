// The watches of one store: turns "these keys changed" into at most one pending event per watch.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "coordination_store/coordination_store.h"

namespace naru {

// Thread-safe. Watches may outlive the registry; they then never fire again.
class WatchRegistry {
 public:
  WatchRegistry();
  ~WatchRegistry();
  WatchRegistry(const WatchRegistry&) = delete;
  WatchRegistry& operator=(const WatchRegistry&) = delete;

  std::unique_ptr<Watch> watch(std::string subject);
  void keys_changed(std::span<const std::string> keys);
  void session_changed();

 private:
  struct Shared;
  struct Entry;
  class RegisteredWatch;

  std::shared_ptr<Shared> shared_;
};

}  // namespace naru
