import java.io.BufferedOutputStream;
import java.io.PrintStream;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Prints what is committed in a topic: partition, blank, value.
 *
 * <pre>Reader BOOTSTRAP TOPIC COUNT</pre>
 *
 * It ends when it has read COUNT records and is at the end of all partitions.
 */
public class Reader {
  public static void main(String[] arguments) {
    String topic = arguments[1];
    int count = Integer.parseInt(arguments[2]);
    Map<String, Object> config = Map.of("bootstrap.servers", arguments[0], "isolation.level", "read_committed",
        "reconnect.backoff.max.ms", 200, "default.api.timeout.ms", 300000);
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out, 1 << 16), false);
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream().map(each -> new TopicPartition(topic, each.partition())).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      for (int read = 0; read < count || !atTheEnd(consumer, partitions); out.flush()) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(100))) {
          out.println(record.partition() + " " + record.value());
          read++;
        }
      }
    }
  }

  private static boolean atTheEnd(KafkaConsumer<String, String> consumer, List<TopicPartition> partitions) {
    Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
    return partitions.stream().allMatch(partition -> consumer.position(partition) == ends.get(partition));
  }
}
