#include "consumer_groups/classic/classic_sessions.h"

namespace naru {
namespace {

constexpr Milliseconds kFirstSession = std::chrono::minutes(5);

void set_session_timer(ClassicGroup& group, ClassicMember& member, MonotonicTime at, GroupStep& step) {
  end_session(member, step);
  member.session_timer_at = at;
  member.session_timer = step.timers.insert(at, {GroupTimer::Kind::session, group.id(), member.member_id});
}

}  // namespace

void renew_session(ClassicGroup& group, ClassicMember& member, GroupStep& step) {
  member.session_end = step.time.now + member.session_timeout;
  if (!member.session_timer || member.session_end < member.session_timer_at) {
    set_session_timer(group, member, member.session_end, step);
  }
}

void start_first_session(ClassicGroup& group, ClassicMember& member, GroupStep& step) {
  member.session_end = step.time.now + kFirstSession;
  set_session_timer(group, member, member.session_end, step);
}

void end_session(ClassicMember& member, GroupStep& step) {
  if (member.session_timer) step.timers.cancel(*member.session_timer);
  member.session_timer.reset();
}

bool session_is_over(ClassicGroup& group, ClassicMember& member, GroupStep& step) {
  member.session_timer.reset();
  // Whoever is parked waits for us, not we for him; only who has no id yet may have given up and come back as another.
  const bool waits_for_us = !member.is_new && (member.parked_join || member.parked_sync);
  if (waits_for_us) {
    member.session_end = step.time.now + member.session_timeout;
  } else if (member.session_end <= step.time.now) {
    return true;
  }
  set_session_timer(group, member, member.session_end, step);
  return false;
}

}  // namespace naru
