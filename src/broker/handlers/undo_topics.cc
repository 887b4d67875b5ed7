#include "broker/handlers/undo_topics.h"

#include "broker/handlers/metadata_words.h"
#include "cluster_control/controller_shell.h"
#include "foundation/log.h"

namespace naru {

Task<void> undo_unusable_topics(const BrokerServices& services, std::vector<CreateTopicResult>& results) {
  std::vector<TopicReference> unusable;
  for (CreateTopicResult& result : results) {
    if (!result.status.ok() || result.topic_id.is_zero()) continue;
    const Status problem = services.partitions.why_unmade(result.topic_id);
    if (problem.ok()) continue;
    unusable.push_back({.id = result.topic_id});
    result.status =
        error(ErrorCode::kafka_storage_error, "the topic's folders could not be created: {}", error_text(problem));
  }
  if (unusable.empty()) co_return;
  for (const DeleteTopicResult& undone : co_await services.controller.delete_topics(std::move(unusable))) {
    if (undone.status.ok()) continue;
    log_warn("broker", "topic {} was not created completely, and is still there: {}", undone.topic_id.to_string(),
             undone.status.to_string());
  }
}

}  // namespace naru
