// The way to a cluster: finds brokers from a bootstrap list, keeps one connection to each, and knows who leads what.
// Producer, Consumer and the calls of admin.h are built on it.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/cancellation.h"
#include "async/one_shot.h"
#include "async/task.h"
#include "client/broker_connection.h"
#include "client/cluster_metadata.h"
#include "platform/seams.h"

namespace naru::client {

using Connection = std::shared_ptr<BrokerConnection>;

struct ClientOptions {
  std::vector<Endpoint> bootstrap;  // asked in this order; at least one
  Duration request_timeout = 30s;   // for one answer
  Duration retry_backoff = 100ms;   // between attempts
  std::string client_id = "naru";
  std::string software_version = "0";
};

// A fetch that waits holds back every answer behind it, so fetches have connections of their own.
enum class ConnectionUse : uint8_t { requests, fetches };

enum class AutoCreate : bool { no, yes };

// Thread: one event loop (the only one of its platform), as everything in this folder.
// Does not retry by itself, except that any_broker() goes through all that it knows. Several tasks may call at the same
// time: those that want the same connection wait for one attempt to open it.
class ClusterClient {
 public:
  ClusterClient(Seams seams, ClientOptions options);
  // Nobody waits for anything here any more.
  ~ClusterClient();
  ClusterClient(const ClusterClient&) = delete;
  ClusterClient& operator=(const ClusterClient&) = delete;

  // A broker that answers: an open connection if there is one, else the bootstrap list, then the brokers of the
  // metadata. The error names every address that was tried and why it failed.
  Task<Result<Connection>> any_broker();
  // The broker of this id, at the address that it advertises; asks for metadata if the id is unknown.
  Task<Result<Connection>> broker(BrokerId id, ConnectionUse use = ConnectionUse::requests);
  // The controller, or any broker where none is known.
  Task<Result<Connection>> controller();
  // This address, whoever is there.
  Task<Result<Connection>> connect(Endpoint address, ConnectionUse use = ConnectionUse::requests);

  // Asks for these topics and keeps what is said about them, errors included.
  Task<Status> refresh(std::vector<std::string> topics, AutoCreate auto_create = AutoCreate::no);
  // Asks for everything.
  Task<Status> refresh_all();
  const ClusterMetadata& metadata() const { return metadata_; }

  // Fails what waits, attempts to connect included, and every later call.
  void close();
  bool closed() const { return closed_; }

  const ClientOptions& options() const { return options_; }
  Seams seams() const { return seams_; }
  Task<void> back_off();

 private:
  // One place for a connection, filled by the first who needs it.
  struct Slot {
    Connection open;
    bool opening = false;
    std::vector<OneShot<Result<Connection>>*> waiting;
  };
  using SlotName = std::pair<std::string, ConnectionUse>;

  Connection find_open() const;
  std::vector<Endpoint> known_addresses() const;

  Seams seams_;
  const ClientOptions options_;
  std::map<SlotName, Slot> slots_;  // references stay valid; bounded by the addresses that brokers advertise
  ClusterMetadata metadata_;
  CancelSource closing_;  // ends attempts to connect
  bool closed_ = false;
};

}  // namespace naru::client
