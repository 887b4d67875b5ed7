import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.serialization.SimpleStringSchema;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.connector.base.DeliveryGuarantee;
import org.apache.flink.connector.kafka.lineage.DefaultKafkaDatasetFacet;
import org.apache.flink.connector.kafka.lineage.DefaultKafkaDatasetIdentifier;
import org.apache.flink.connector.kafka.lineage.KafkaDatasetFacet;
import org.apache.flink.connector.kafka.lineage.KafkaDatasetFacetProvider;
import org.apache.flink.connector.kafka.sink.KafkaRecordSerializationSchema;
import org.apache.flink.connector.kafka.sink.KafkaSink;
import org.apache.flink.connector.kafka.sink.TransactionNamingStrategy;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * A job of Flink in a cluster inside this process: copies numbers from a topic to another one with the exactly-once sink.
 *
 * <pre>Copy BOOTSTRAP FROM TO STRATEGY CHECKPOINTS [CHECKPOINT]</pre>
 *
 * STRATEGY says how the sink names its transactions, INCREMENTING or POOLING. Checkpoints, one in 500 ms, go to the folder CHECKPOINTS; with a
 * CHECKPOINT the job goes on from there. A number n goes to partition n / 3 % 3. Prints "running"; it is canceled when the standard input ends.
 */
public class Copy {
  private static final int PARTITIONS = 3;

  public static void main(String[] arguments) throws Exception {
    String bootstrap = arguments[0];
    String to = arguments[2];
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, configuration(arguments));
    KafkaSource<String> source = KafkaSource.<String>builder()
        .setBootstrapServers(bootstrap)
        .setTopics(arguments[1])
        .setGroupId("flink")
        .setStartingOffsets(OffsetsInitializer.earliest())
        .setProperty("isolation.level", "read_committed")
        .setProperty("reconnect.backoff.max.ms", "200")
        .setDeserializer(KafkaRecordDeserializationSchema.valueOnly(new SimpleStringSchema()))
        .build();
    Properties producer = new Properties();
    producer.putAll(Map.of("transaction.timeout.ms", "60000", "reconnect.backoff.max.ms", "200"));
    KafkaSink<String> sink = KafkaSink.<String>builder()
        .setBootstrapServers(bootstrap)
        .setKafkaProducerConfig(producer)
        .setDeliveryGuarantee(DeliveryGuarantee.EXACTLY_ONCE)
        .setTransactionalIdPrefix("copy")
        .setTransactionNamingStrategy(TransactionNamingStrategy.valueOf(arguments[3]))
        .setRecordSerializer(new Serializer(to))
        .build();
    environment.fromSource(source, WatermarkStrategy.noWatermarks(), "numbers").sinkTo(sink);
    JobClient job = environment.executeAsync();
    System.out.println("running");
    end(job);
  }

  private static Configuration configuration(String[] arguments) {
    Configuration configuration = new Configuration();
    configuration.setString("execution.checkpointing.interval", "500 ms");
    configuration.setString("execution.checkpointing.timeout", "60 s");
    configuration.setString("execution.checkpointing.tolerable-failed-checkpoints", "1000");
    configuration.setString("execution.checkpointing.externalized-checkpoint-retention", "RETAIN_ON_CANCELLATION");
    configuration.setString("execution.checkpointing.num-retained", "3");
    configuration.setString("execution.checkpointing.dir", "file://" + arguments[4]);
    configuration.setString("restart-strategy.type", "fixed-delay");
    configuration.setString("restart-strategy.fixed-delay.attempts", "100000");
    configuration.setString("restart-strategy.fixed-delay.delay", "200 ms");
    configuration.setString("taskmanager.memory.network.min", "32m");
    configuration.setString("taskmanager.memory.network.max", "32m");
    configuration.setString("taskmanager.memory.managed.size", "32m");
    if (arguments.length > 5) configuration.setString("execution.state-recovery.path", "file://" + arguments[5]);
    return configuration;
  }

  /** The sink asks for the target's name where it looks for transactions of its own. */
  private static class Serializer implements KafkaRecordSerializationSchema<String>, KafkaDatasetFacetProvider {
    private final String to;

    Serializer(String to) {
      this.to = to;
    }

    @Override
    public ProducerRecord<byte[], byte[]> serialize(String value, KafkaSinkContext context, Long timestamp) {
      return new ProducerRecord<>(to, Integer.parseInt(value) / PARTITIONS % PARTITIONS, null, value.getBytes());
    }

    @Override
    public Optional<KafkaDatasetFacet> getKafkaDatasetFacet() {
      return Optional.of(new DefaultKafkaDatasetFacet(DefaultKafkaDatasetIdentifier.ofTopics(List.of(to)), new Properties()));
    }
  }

  /** The job goes on until the standard input ends; it does not end by itself. */
  private static void end(JobClient job) throws Exception {
    job.getJobExecutionResult().whenComplete((result, failure) -> {
      if (failure != null) {
        failure.printStackTrace();
        Runtime.getRuntime().halt(1);
      }
    });
    try {
      while (System.in.read() >= 0);
    } catch (IOException closed) {
      // means the same
    }
    Runtime.getRuntime().halt(0);
  }
}
