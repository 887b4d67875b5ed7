#include "fuzzing/request_mutator.h"

#include "foundation/byte_writer.h"

namespace naru::fuzzing {
namespace {

// The longest that versions before the compact forms can express.
constexpr size_t kTextMax = 32'767;

}  // namespace

std::string_view RequestMutator::text(std::string_view now) {
  switch (random_.below(9)) {
    case 0:
      return "";
    case 1:
      return "..";
    case 2:
      return arena_.emplace_back("no\0such\xff", 8);
    case 3:
      return arena_.emplace_back(std::min(limits_.text_max, kTextMax), 'x');
    case 4:
      return arena_.emplace_back(std::min<size_t>(1 + random_.below(limits_.text_max), kTextMax), 'y');
    case 5:
      return any_of(random_, world_.groups()).id;
    case 6:
      return any_of(random_, world_.transactions()).id;
    case 7:
      return arena_.emplace_back(std::string(now.substr(0, kTextMax - 1)) + "x");
    default:
      return "no-such-thing";
  }
}

std::string RequestMutator::bytes(std::string_view now) {
  std::string changed(now);
  switch (random_.below(5)) {
    case 0:
      return {};
    case 1:
      changed.resize(random_.below(changed.size() + 1));
      return changed;
    case 2:
      changed.resize(changed.size() + random_.below(limits_.text_max * 8), '\x7f');
      return changed;
    case 3:
      return changed + changed;
    default:
      for (int i = 0; i < 3 && !changed.empty(); ++i) {
        changed[random_.below(changed.size())] = static_cast<char>(random_.next());
      }
      return changed;
  }
}

Uuid RequestMutator::uuid(const Uuid& now) {
  switch (random_.below(3)) {
    case 0:
      return {};
    case 1:
      return random_.uuid();
    default:
      return {now.low, now.high};
  }
}

void mutate_bytes(Random& random, Bytes& frame, size_t header_bytes) {
  constexpr size_t kSizeField = 4;
  const size_t first = std::min(frame.size(), header_bytes);
  const auto somewhere = [&] { return first + random.below(frame.size() - first + 1); };
  for (uint64_t i = 1 + random.below(3); i > 0; --i) {
    const size_t place = somewhere();
    switch (random.below(4)) {
      case 0:
        frame.resize(place);
        break;
      case 1:
        frame.insert(frame.begin() + static_cast<ptrdiff_t>(place), static_cast<std::byte>(random.next()));
        break;
      default:
        if (place < frame.size()) frame[place] = static_cast<std::byte>(random.one_in(2) ? 0xff : random.next());
        break;
    }
  }
  ByteWriter(frame).patch_int(0, static_cast<int32_t>(frame.size() - kSizeField));
}

}  // namespace naru::fuzzing
