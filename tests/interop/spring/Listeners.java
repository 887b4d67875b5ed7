import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.kafka.annotation.BackOff;
import org.springframework.kafka.annotation.DltHandler;
import org.springframework.kafka.annotation.EnableKafka;
import org.springframework.kafka.annotation.EnableKafkaRetryTopic;
import org.springframework.kafka.annotation.KafkaListener;
import org.springframework.kafka.annotation.RetryableTopic;
import org.springframework.kafka.config.ConcurrentKafkaListenerContainerFactory;
import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaAdmin;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.DeadLetterPublishingRecoverer;
import org.springframework.kafka.listener.DefaultAfterRollbackProcessor;
import org.springframework.kafka.listener.DefaultErrorHandler;
import org.springframework.kafka.transaction.KafkaTransactionManager;
import org.springframework.scheduling.TaskScheduler;
import org.springframework.scheduling.concurrent.ThreadPoolTaskScheduler;
import org.springframework.util.backoff.FixedBackOff;

/**
 * Three ways of Spring for Apache Kafka to deal with records that fail, in a process of its own, so that it can be killed:
 *
 * <pre>Listeners BOOTSTRAP</pre>
 *
 * "handled": an error handler with back-off tries a record again where it stands, then sends it to "handled-dlt". "retried": the record
 * goes through retry topics, and then to their dead-letter topic, from which it is copied. "moved": each record is copied in a transaction
 * with its offset; the record that fails to the end goes to "moved-dlt" in a transaction. What succeeds is copied to TOPIC-done, what does not to
 * TOPIC-failed or TOPIC-dlt. Numbers that end in 7 fail always, those that end in 3 fail when they are seen first. It ends in order when its
 * standard input ends.
 */
@Configuration
@EnableKafka
@EnableKafkaRetryTopic
public class Listeners {
  private static String bootstrap;

  private final Set<String> seen = ConcurrentHashMap.newKeySet();

  public static void main(String[] arguments) throws IOException {
    bootstrap = arguments[0];
    try (var context = new AnnotationConfigApplicationContext(Listeners.class)) {
      System.out.println("ready");
      while (System.in.read() >= 0);
    }
  }

  @KafkaListener(id = "handled", topics = "handled", containerFactory = "handling")
  public void handle(ConsumerRecord<String, String> record) {
    attempt(record);
    send(template(), "handled-done", record);
  }

  @RetryableTopic(attempts = "3", backOff = @BackOff(delay = 200, multiplier = 2), replicationFactor = "1", numPartitions = "3",
      kafkaTemplate = "template")
  @KafkaListener(id = "retried", topics = "retried", containerFactory = "retrying")
  public void retry(ConsumerRecord<String, String> record) {
    attempt(record);
    send(template(), "retried-done", record);
  }

  @DltHandler
  public void giveUp(ConsumerRecord<String, String> record) {
    send(template(), "retried-failed", record);
  }

  @KafkaListener(id = "moved", topics = "moved", containerFactory = "moving")
  public void move(ConsumerRecord<String, String> record) {
    transactional().send("moved-done", record.partition(), null, record.value());
    attempt(record); // behind the send, which is then taken back
  }

  private void attempt(ConsumerRecord<String, String> record) {
    // Retry topics keep count of a record's attempts when this process is killed; what it has seen is lost then.
    boolean first = record.topic().startsWith("retried") ? record.topic().equals("retried") : seen.add(record.topic() + record.value());
    if (record.value().endsWith("7") || record.value().endsWith("3") && first) throw new IllegalStateException(record.value());
  }

  private static void send(KafkaTemplate<String, String> template, String topic, ConsumerRecord<String, String> record) {
    template.send(topic, record.value()).join();
  }

  private static Map<String, Object> common() {
    return new HashMap<>(Map.of("bootstrap.servers", bootstrap, "reconnect.backoff.max.ms", 200));
  }

  private ConcurrentKafkaListenerContainerFactory<String, String> containers(int concurrency) {
    Map<String, Object> config = common();
    config.putAll(Map.of("auto.offset.reset", "earliest", "isolation.level", "read_committed", "session.timeout.ms", 6000,
        "heartbeat.interval.ms", 500, "max.poll.records", 50, "metadata.max.age.ms", 5000));
    var factory = new ConcurrentKafkaListenerContainerFactory<String, String>();
    factory.setConsumerFactory(new DefaultKafkaConsumerFactory<>(config, new StringDeserializer(), new StringDeserializer()));
    factory.setConcurrency(concurrency);
    return factory;
  }

  @Bean
  public ConcurrentKafkaListenerContainerFactory<String, String> handling() {
    var factory = containers(3);
    factory.setCommonErrorHandler(new DefaultErrorHandler(toTheSamePartition(template(), "handled-dlt"), new FixedBackOff(100, 2)));
    return factory;
  }

  @Bean
  public ConcurrentKafkaListenerContainerFactory<String, String> retrying() {
    return containers(1);
  }

  @Bean
  public ConcurrentKafkaListenerContainerFactory<String, String> moving() {
    var factory = containers(3);
    factory.getContainerProperties().setKafkaAwareTransactionManager(transactions());
    factory.getContainerProperties().setAckMode(ContainerProperties.AckMode.RECORD);
    factory.setAfterRollbackProcessor(new DefaultAfterRollbackProcessor<>(
        toTheSamePartition(transactional(), "moved-dlt"), new FixedBackOff(50, 2), transactional(), true));
    return factory;
  }

  private static DeadLetterPublishingRecoverer toTheSamePartition(KafkaTemplate<String, String> template, String topic) {
    return new DeadLetterPublishingRecoverer(template, (record, failure) -> new TopicPartition(topic, record.partition()));
  }

  @Bean
  public KafkaTemplate<String, String> template() {
    return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(common(), new StringSerializer(), new StringSerializer()));
  }

  @Bean
  public KafkaTemplate<String, String> transactional() {
    return new KafkaTemplate<>(transactionalProducers());
  }

  @Bean
  public KafkaTransactionManager<String, String> transactions() {
    return new KafkaTransactionManager<>(transactionalProducers());
  }

  @Bean
  public DefaultKafkaProducerFactory<String, String> transactionalProducers() {
    Map<String, Object> config = common();
    config.put("transaction.timeout.ms", 8000);
    var factory = new DefaultKafkaProducerFactory<String, String>(config, new StringSerializer(), new StringSerializer());
    factory.setTransactionIdPrefix("mover-");
    return factory;
  }

  @Bean
  public KafkaAdmin admin() {
    return new KafkaAdmin(common());
  }

  @Bean
  public TaskScheduler taskScheduler() {
    return new ThreadPoolTaskScheduler();
  }
}
