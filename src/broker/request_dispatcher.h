// From frames to handlers: header, version check, answer, times, slow requests, throttling.
#pragma once

#include <memory>

#include "async/task_group.h"
#include "broker/broker_services.h"
#include "broker/request_context.h"
#include "broker/request_metrics.h"
#include "kafka_protocol/request_header.h"
#include "network/connection.h"
#include "observability/log_rate.h"
#include "observability/slow_request_log.h"

namespace naru {

// Thread: process() on the connections' loops; requests go on wherever their events happen.
class RequestDispatcher final : public RequestProcessor {
 public:
  RequestDispatcher(const BrokerServices& services, RequestMetrics& metrics);

  void process(Request request) override { tasks_.spawn(handle(std::move(request))); }

  // Any thread.
  void set_slow_request(Duration threshold) { slow_requests_.set_threshold(threshold); }

  // Returns when every request has been answered. No process() afterwards.
  Task<void> drain() { return tasks_.join(); }

 private:
  Task<void> handle(Request request);
  Task<Response> answer(const Request& request, const kafka::DecodedRequestHeader& header, kafka::WireReader& body);

  void tell_of_no_answer(const RequestContext& context, const Response& response);

  const BrokerServices& services_;
  RequestMetrics& metrics_;
  SlowRequestLog slow_requests_;
  LogRate no_answer_lines_{1};
  TaskGroup tasks_;
};

}  // namespace naru
