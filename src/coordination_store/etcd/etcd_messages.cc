#include "coordination_store/etcd/etcd_messages.h"

#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "coordination_store/etcd/etcd_base64.h"

namespace naru {
namespace {

using Json = nlohmann::json;

// Codes of gRPC, as the gateway passes them on.
constexpr int kInvalidArgument = 3;
constexpr int kNotFound = 5;
constexpr int kResourceExhausted = 8;

std::string encoded(std::string_view text) {
  return encode_base64(as_bytes(text));
}

// The first key behind all that begin with `prefix`, which ends with a slash.
std::string end_of_prefix(std::string prefix) {
  ++prefix.back();
  return prefix;
}

Json range_json(const EtcdRange& range) {
  Json json{{"key", encoded(range.key)}};
  if (range.is_prefix) json["range_end"] = encoded(end_of_prefix(range.key));
  return json;
}

Json put_json(std::string_view stored_key, BytesView value, int64_t lease) {
  Json json{{"key", encoded(stored_key)}, {"value", encode_base64(value)}};
  if (lease != 0) json["lease"] = std::to_string(lease);
  return {{"request_put", std::move(json)}};
}

// Objects without a member, and what is no object, have an empty member.
const Json& member(const Json& json, const char* name) {
  static const Json empty;
  if (!json.is_object()) return empty;
  const auto found = json.find(name);
  return found == json.end() ? empty : *found;
}

// 64-bit numbers are strings, and zeros are left out.
std::optional<int64_t> number(const Json& json) {
  if (json.is_null()) return 0;
  if (json.is_number_integer()) return json.get<int64_t>();
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  int64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool flag(const Json& json) {
  return json.is_boolean() && json.get<bool>();
}

std::optional<Bytes> bytes(const Json& json) {
  if (json.is_null()) return Bytes();
  if (!json.is_string()) return std::nullopt;
  return decode_base64(json.get_ref<const std::string&>());
}

Json parse(std::string_view body) {
  return Json::parse(body, nullptr, false);
}

std::unexpected<Status> nonsense(std::string_view body) {
  return failure(ErrorCode::unavailable, "etcd answered with what is no answer: {}", body.substr(0, 200));
}

}  // namespace

std::optional<std::string> EtcdKeys::key(std::string_view stored) const {
  if (!stored.starts_with(keys_)) return std::nullopt;
  return std::string(stored.substr(keys_.size()));
}

EtcdRange range_of(const EtcdKeys& keys, std::string_view subject) {
  return {keys.stored(subject), subject.empty() || subject.ends_with('/')};
}

std::string etcd_get_request(const std::string& stored_key) {
  return range_json({stored_key}).dump();
}

std::string etcd_list_request(const EtcdRange& range, const std::string& after, int limit) {
  Json json = range_json(range);
  if (!after.empty()) json["key"] = encoded(after + '\0');
  json["limit"] = limit;
  return json.dump();
}

std::string etcd_transaction_request(const Transaction& transaction, const EtcdKeys& keys, int64_t lease) {
  Json compares = Json::array(), changes = Json::array(), otherwise = Json::array();
  for (const Compare& compare : transaction.compares) {
    compares.push_back({{"key", encoded(keys.stored(compare.key))},
                        {"target", "MOD"},
                        {"result", "EQUAL"},
                        {"mod_revision", std::to_string(compare.version)}});
  }
  for (const Put& put : transaction.puts) {
    changes.push_back(put_json(keys.stored(put.key), put.value, put.ephemeral ? lease : 0));
  }
  for (const std::string& key : transaction.deletes) {
    changes.push_back({{"request_delete_range", {{"key", encoded(keys.stored(key))}}}});
  }
  if (!changes.empty()) {
    const std::string session = encoded(keys.session(lease));
    compares.push_back({{"key", session}, {"target", "CREATE"}, {"result", "GREATER"}, {"create_revision", "0"}});
    otherwise.push_back({{"request_range", {{"key", session}, {"count_only", true}}}});
  }
  return Json{{"compare", std::move(compares)}, {"success", std::move(changes)}, {"failure", std::move(otherwise)}}
      .dump();
}

std::string etcd_put_session_request(const EtcdKeys& keys, int64_t lease) {
  return put_json(keys.session(lease), {}, lease)["request_put"].dump();
}

std::string etcd_watch_request(const EtcdRange& range) {
  return Json{{"create_request", range_json(range)}}.dump();
}

std::string etcd_grant_request(int64_t seconds) {
  return Json{{"TTL", std::to_string(seconds)}}.dump();
}

std::string etcd_lease_request(int64_t lease) {
  return Json{{"ID", std::to_string(lease)}}.dump();
}

Result<EtcdListing> parse_etcd_listing(std::string_view body) {
  const Json json = parse(body);
  if (number(member(member(json, "header"), "revision")).value_or(0) <= 0) return nonsense(body);
  EtcdListing listing{.more = flag(member(json, "more"))};
  const Json& values = member(json, "kvs");
  if (!values.is_null() && !values.is_array()) return nonsense(body);
  for (const Json& value : values) {
    const auto key = bytes(member(value, "key"));
    auto content = bytes(member(value, "value"));
    const auto revision = number(member(value, "mod_revision"));
    if (!key || !content || !revision || *revision <= 0) return nonsense(body);
    listing.values.push_back({std::string(as_text(*key)), SharedBytes(std::move(*content)), *revision});
  }
  return listing;
}

Result<EtcdOutcome> parse_etcd_outcome(std::string_view body) {
  const Json json = parse(body);
  const auto revision = number(member(member(json, "header"), "revision"));
  if (!revision || *revision <= 0) return nonsense(body);
  EtcdOutcome outcome{.succeeded = flag(member(json, "succeeded")), .revision = *revision};
  const Json& responses = member(json, "responses");
  if (!outcome.succeeded && responses.is_array() && !responses.empty()) {
    outcome.session_exists = number(member(member(responses[0], "response_range"), "count")).value_or(0) > 0;
  }
  return outcome;
}

Result<int64_t> parse_etcd_grant(std::string_view body) {
  const auto id = number(member(parse(body), "ID"));
  if (!id || *id == 0) return nonsense(body);
  return *id;
}

Result<int64_t> parse_etcd_keepalive(std::string_view body) {
  const Json json = parse(body);
  const Json& result = member(json, "result");
  const auto seconds = number(member(result, "TTL"));
  if (!member(result, "header").is_object() || !seconds) return nonsense(body);
  return *seconds;
}

bool etcd_watch_is_over(std::string_view line) {
  const Json json = parse(line);
  return !member(json, "error").is_null() || flag(member(member(json, "result"), "canceled"));
}

EtcdRefusal parse_etcd_refusal(int http_status, std::string_view body) {
  const Json json = parse(body);
  const Json& error_text = member(json, "error");
  const std::string text = error_text.is_string() ? error_text.get<std::string>() : fmt::format("HTTP {}", http_status);
  switch (number(member(json, "code")).value_or(0)) {
    case kInvalidArgument:
      return {error(ErrorCode::invalid_argument, "etcd: {}", text)};
    case kResourceExhausted: {
      const bool is_full = text.find("space") != std::string::npos;
      return {error(is_full ? ErrorCode::disk_full : ErrorCode::unavailable, "etcd: {}", text)};
    }
    case kNotFound:
      return {error(ErrorCode::unavailable, "etcd: {}", text), text.find("lease") != std::string::npos};
    default:
      return {error(ErrorCode::unavailable, "etcd: {}", text)};
  }
}

}  // namespace naru
