// Any text as a configuration file: parsed or refused, within its own size.
#include <cstdint>

#include "configuration/broker_config.h"
#include "configuration/properties_file.h"
#include "foundation/assert.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto properties = naru::parse_properties(text)) {
    size_t bytes = 0;
    for (const naru::Property& property : *properties) bytes += property.key.size() + property.value.size();
    NARU_ASSERT(bytes <= size, "{} bytes became {}", size, bytes);
  }
  naru::BrokerConfigInputs inputs;
  inputs.file_name = "fuzz.properties";
  inputs.file_text = text;
  const auto config = naru::load_broker_config(inputs);
  NARU_ASSERT(config || !config.error().message().empty(), "a refusal without a reason");
  NARU_ASSERT(!config || !config->listeners.empty(), "a broker without a listener");
  return 0;
}
