import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicBrokerConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints every configuration key of the Kafka whose jars are on the class path, one per line: scope, key, type, default, where it can be
 * changed at run time, when it is described, and the keys that it falls back to. The facts that src/configuration is checked against.
 */
public class ConfigKeys {
  private static final Map<String, String> MODES = DynamicBrokerConfig.dynamicConfigUpdateModes();

  private static String defaultOf(ConfigKey key) {
    if (key.defaultValue == null) return "null";
    if (key.defaultValue == ConfigDef.NO_DEFAULT_VALUE) return "required";
    return "'" + ConfigDef.convertToString(key.defaultValue, key.type) + "'";
  }

  private static String fallbacks(String scope, String name) {
    switch (scope) {
      case "topic":
        return String.join(",", ServerTopicConfigSynonyms.ALL_TOPIC_CONFIG_SYNONYMS.getOrDefault(name, List.of())
                                    .stream().map(synonym -> synonym.name()).toList());
      case "group":
        return GroupConfig.brokerSynonym(name).orElse("");
      case "broker":
        return String.join(",", DynamicBrokerConfig.brokerConfigSynonyms(name, true).stream().filter(other -> !other.equals(name)).toList());
      default:
        return "";
    }
  }

  // Internal keys, and those that a broker has only while it runs, are described when they are set.
  private static boolean isShown(String scope, ConfigKey key) {
    return !key.internalConfig && (!scope.equals("broker") || AbstractKafkaConfig.CONFIG_DEF.configKeys().containsKey(key.name));
  }

  private static void print(String scope, Map<String, ConfigKey> keys) {
    for (ConfigKey key : new TreeMap<>(keys).values()) {
      String mode = scope.equals("broker") ? MODES.getOrDefault(key.name, "read-only") : "dynamic";
      String fallbacks = fallbacks(scope, key.name);
      System.out.println(String.join("\t", scope, key.name, key.type.toString().toLowerCase(), defaultOf(key), mode,
                                     isShown(scope, key) ? "always" : "if set", fallbacks.isEmpty() ? "-" : fallbacks));
    }
  }

  public static void main(String[] arguments) {
    Map<String, ConfigKey> broker = new TreeMap<>(DynamicConfig.Broker.configKeys());
    broker.putAll(AbstractKafkaConfig.CONFIG_DEF.configKeys());
    print("broker", broker);
    print("topic", LogConfig.configDefCopy().configKeys());
    print("group", GroupConfig.CONFIG_DEF.configKeys());
    print("client-metrics", ClientMetricsConfigs.configDef().configKeys());
  }
}
