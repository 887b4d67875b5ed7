// DescribeLogDirs: which partitions are in which data folder, their sizes, and the room that is left.
#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "broker/api_handlers.h"
#include "broker/handlers/decode_request.h"
#include "broker/turns.h"
#include "kafka_protocol/messages/describe_log_dirs_request.h"
#include "kafka_protocol/messages/describe_log_dirs_response.h"
#include "platform/file_system.h"

namespace naru {
namespace {

using LogDirsAnswer = kafka::DescribeLogDirsResponse;
using ResultTopic = LogDirsAnswer::DescribeLogDirsTopic;
// Topics of one folder, by name.
using Topics = std::map<std::string, ResultTopic>;

// Which partitions the client asks for; nothing: all of them.
class Selection {
 public:
  Task<void> take(const kafka::DescribeLogDirsRequest& request, Turns& turns) {
    if (!request.topics) co_return;
    auto& wanted = wanted_.emplace();
    for (const auto& topic : *request.topics) {
      co_await turns.step();
      for (const PartitionIndex index : topic.partitions) {
        co_await turns.step();
        wanted.emplace(topic.topic, index);
      }
    }
  }
  bool contains(const PartitionIdentity& identity) const {
    return !wanted_ || wanted_->contains({identity.topic, identity.index});
  }

 private:
  std::optional<std::set<std::pair<std::string_view, PartitionIndex>>> wanted_;
};

// By folder. A partition that is not served has no size to tell.
Task<std::map<std::string_view, Topics>> measure(const BrokerServices& services, const Selection& selection,
                                                 Turns& turns) {
  std::map<std::string_view, Topics> folders;
  for (const HostedPartition& hosted : services.partitions.all_hosted()) {
    co_await turns.step();
    const PartitionIdentity& identity = hosted.partition->identity();
    if (!selection.contains(identity)) continue;
    const uint64_t bytes = co_await hosted.partition->size_bytes();
    ResultTopic& topic = folders[hosted.log_dir][identity.topic];
    topic.name = identity.topic;
    topic.partitions.push_back({.partition_index = identity.index, .partition_size = static_cast<int64_t>(bytes)});
  }
  co_return folders;
}

}  // namespace

Task<Response> handle_describe_log_dirs(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::DescribeLogDirsRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  LogDirsAnswer response;
  if (!services.authorizer.authorize(context.caller, Operation::describe, ResourceType::cluster, kClusterResource)) {
    response.error_code = ErrorCode::cluster_authorization_failed;
    co_return encode_reply(context, response);
  }
  Turns turns(services, context);
  Selection selection;
  co_await selection.take(request, turns);
  auto folders = co_await measure(services, selection, turns);
  for (const std::string& folder : services.config.log_dirs) {
    auto& result = response.results.emplace_back();
    result.log_dir = folder;
    for (auto& [name, topic] : folders[folder]) result.topics.push_back(std::move(topic));
    const auto space = co_await on_worker(services.scheduler, [&] { return services.files.space(folder); });
    if (!space) {
      result.error_code = ErrorCode::kafka_storage_error;
      continue;
    }
    result.total_bytes = static_cast<int64_t>(space->total_bytes);
    result.usable_bytes = static_cast<int64_t>(space->free_bytes);
  }
  co_await turns.to_worker_if_large();
  co_return encode_reply(context, response);
}

}  // namespace naru
