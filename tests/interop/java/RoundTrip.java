import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Creates a topic, produces with every codec, reads all of it back in order, looks up offsets, deletes the topic. */
public class RoundTrip {
  private static final int RECORDS_PER_CODEC = 1000;
  private static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

  public static void main(String[] arguments) throws Exception {
    Map<String, Object> broker = Map.of("bootstrap.servers", arguments[0]);
    TopicPartition partition = new TopicPartition("round-trip", 0);
    try (Admin admin = Admin.create(broker)) {
      admin.createTopics(List.of(new NewTopic(partition.topic(), 2, (short) 1))).all().get();
      for (String codec : CODECS) produce(arguments[0], partition, codec);
      consume(broker, partition);
      admin.deleteTopics(List.of(partition.topic())).all().get();
      require(!admin.listTopics().names().get().contains(partition.topic()), "the topic is still listed");
    }
    System.out.println("ok");
  }

  private static void produce(String broker, TopicPartition partition, String codec) {
    // Idempotence needs InitProducerId, which the broker does not offer yet.
    Map<String, Object> config = Map.of("bootstrap.servers", broker, "enable.idempotence", "false", "compression.type",
        codec, "linger.ms", "20", "acks", "all", "max.in.flight.requests.per.connection", "1");
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < RECORDS_PER_CODEC; i++) {
        producer.send(new ProducerRecord<>(partition.topic(), partition.partition(), "key " + i, codec + " " + i));
      }
    }
  }

  private static void consume(Map<String, Object> config, TopicPartition partition) {
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      int read = 0;
      long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
      int expected = CODECS.size() * RECORDS_PER_CODEC;
      while (read < expected && System.nanoTime() < deadline) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
          String value = CODECS.get(read / RECORDS_PER_CODEC) + " " + read % RECORDS_PER_CODEC;
          require(record.offset() == read && record.value().equals(value), "at " + record.offset() + ": " + record.value());
          read++;
        }
      }
      require(read == expected, "read " + read + " of " + expected);
      require(consumer.endOffsets(List.of(partition)).get(partition) == expected, "end offset");
      require(consumer.offsetsForTimes(Map.of(partition, 1L)).get(partition).offset() == 0, "offset for a time");
    }
  }

  private static void require(boolean condition, String what) {
    if (!condition) throw new IllegalStateException(what);
  }
}
