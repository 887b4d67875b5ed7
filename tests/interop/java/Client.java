import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeTopicsResult;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** The program of Java's kafka-clients; one source for all versions from 2.8 on. */
public class Client {
  private static final long FIRST_TIMESTAMP = 1700000000000L;
  /** So long that a record which does not end the wait of a fetch is missed. */
  private static final int LONG_WAIT_MS = 40000;
  private static final int SHORT_WAIT_MS = 100;
  /** The first send() waits for metadata, and from 4.0 on, where the client forgets it with the broker, also one after a restart. */
  private static final String FIRST_SEND_MS = "300000";
  private static final int FOLLOWED_PARTITIONS = 4;
  private static final int FOLLOW_WINDOW = 100;

  private final String bootstrap;
  private final String topic;

  private Client(String bootstrap, String topic) {
    this.bootstrap = bootstrap;
    this.topic = topic;
  }

  public static void main(String[] arguments) throws Exception {
    Client client = new Client(arguments[1], arguments[2]);
    switch (arguments[0]) {
      case "admin" -> client.admin();
      case "delete" -> client.delete();
      case "produce" -> client.produce(arguments[3], Integer.parseInt(arguments[4]));
      case "consume" -> client.consume(Integer.parseInt(arguments[3]));
      case "follow" -> client.follow(Integer.parseInt(arguments[3]));
      case "group" -> client.group(arguments[3], arguments[4]);
      case "idempotent" -> client.idempotent(Integer.parseInt(arguments[3]));
      default -> throw new IllegalArgumentException(arguments[0]);
    }
  }

  private void admin() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      // Records with such old timestamps are kept only without retention.
      NewTopic created = new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "-1"));
      admin.createTopics(List.of(created)).all().get();
      System.out.println("create");
      require(admin.listTopics().names().get().contains(topic), "not listed");
      System.out.println("list");
      require(describe(admin).partitions().size() == 2, "number of partitions");
      System.out.println("describe");
      require(config(admin, "retention.ms").equals("-1"), "retention.ms");
      System.out.println("describe-configs");
      AlterConfigOp set = new AlterConfigOp(new ConfigEntry("max.message.bytes", "2000000"), AlterConfigOp.OpType.SET);
      admin.incrementalAlterConfigs(Map.of(resource(), List.of(set))).all().get();
      require(config(admin, "max.message.bytes").equals("2000000"), "max.message.bytes");
      System.out.println("alter-configs");
      admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
      System.out.println("create-partitions");
    }
  }

  private ConfigResource resource() {
    return new ConfigResource(ConfigResource.Type.TOPIC, topic);
  }

  private String config(Admin admin, String name) throws Exception {
    return admin.describeConfigs(List.of(resource())).all().get().get(resource()).get(name).value();
  }

  /** The accessor has one name up to 3.0 and another from 4.0 on. */
  @SuppressWarnings("unchecked")
  private TopicDescription describe(Admin admin) throws Exception {
    DescribeTopicsResult result = admin.describeTopics(List.of(topic));
    java.lang.reflect.Method accessor;
    try {
      accessor = DescribeTopicsResult.class.getMethod("topicNameValues");
    } catch (NoSuchMethodException old) {
      accessor = DescribeTopicsResult.class.getMethod("values");
    }
    return ((Map<String, KafkaFuture<TopicDescription>>) accessor.invoke(result)).get(topic).get();
  }

  private void delete() throws Exception {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      admin.deleteTopics(List.of(topic)).all().get();
    }
  }

  private void produce(String codec, int count) throws Exception {
    Acknowledged acknowledged = new Acknowledged();
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "enable.idempotence", "false", "compression.type",
        codec, "linger.ms", "20", "acks", "all", "max.in.flight.requests.per.connection", "1", "max.block.ms", FIRST_SEND_MS);
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < count; i++) {
        var record = new ProducerRecord<>(topic, 0, FIRST_TIMESTAMP + i, "key " + i, codec + " " + i);
        record.headers().add("number", Integer.toString(i).getBytes());
        producer.send(record, (metadata, failure) -> acknowledged.add(failure));
      }
    }
    acknowledged.require(count);
  }

  private void consume(int count) {
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap);
    TopicPartition partition = new TopicPartition(topic, 0);
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.assign(List.of(partition));
      consumer.seekToBeginning(List.of(partition));
      long firstLater = -1;
      for (int read = 0; read < count;) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofSeconds(10))) {
          Header header = record.headers().iterator().next();
          System.out.println(record.offset() + "\t" + record.key() + "\t" + record.value() + "\t" + header.key() + "="
              + new String(header.value()) + "\t" + record.timestamp());
          if (firstLater < 0 && record.timestamp() > FIRST_TIMESTAMP) firstLater = record.offset();
          read++;
        }
      }
      require(consumer.position(partition) == consumer.endOffsets(List.of(partition)).get(partition), "end offset");
      var found = consumer.offsetsForTimes(Map.of(partition, FIRST_TIMESTAMP + 1)).get(partition);
      require(found.offset() == firstLater, "offset for a time: " + found + ", not " + firstLater);
    }
  }

  private void follow(int count) throws Exception {
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "fetch.max.wait.ms", LONG_WAIT_MS,
        "request.timeout.ms", 2 * LONG_WAIT_MS);
    Acknowledged acknowledged = new Acknowledged();
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer());
        var producer = new KafkaProducer<>(Map.<String, Object>of("bootstrap.servers", bootstrap), new StringSerializer(),
            new StringSerializer())) {
      var partitions = IntStream.range(0, FOLLOWED_PARTITIONS).mapToObj(i -> new TopicPartition(topic, i)).toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Set<Integer> heard = new HashSet<>();
      for (int read = 0, sent = 0, permitted = 1; read < count;) {
        for (; sent < Math.min(permitted, count); sent++) {
          var record = new ProducerRecord<String, String>(topic, sent % FOLLOWED_PARTITIONS, null, Integer.toString(sent));
          producer.send(record, (metadata, failure) -> acknowledged.add(failure));
        }
        boolean first = heard.size() < FOLLOWED_PARTITIONS;
        var records = consumer.poll(Duration.ofMillis(first ? SHORT_WAIT_MS : LONG_WAIT_MS / 2));
        if (records.isEmpty()) {
          require(first && sent < count, "nothing arrives");
          permitted = sent + 1;
          continue;
        }
        for (ConsumerRecord<String, String> record : records) {
          System.out.println(record.partition() + "\t" + record.offset() + "\t" + record.value());
          heard.add(record.partition());
          read++;
        }
        permitted = read + (read < count / 2 ? 1 : FOLLOW_WINDOW);
      }
      producer.flush();
      consumer.close(Duration.ZERO); // a fetch is waiting, and nothing will end it
    }
    acknowledged.require(count);
  }

  private void group(String name, String strategy) {
    Map<String, Object> config = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.id", name, "auto.offset.reset", "earliest",
        "auto.commit.interval.ms", 200, "reconnect.backoff.max.ms", 500));
    boolean byHand = strategy.equals("consumer");
    if (byHand) {
      // By itself, this consumer may commit what its program has not seen yet (KAFKA-18641), and the program may be killed then.
      config.putAll(Map.of("group.protocol", "consumer", "enable.auto.commit", "false"));
    } else {
      String assignor = strategy.equals("range") ? "RangeAssignor" : "CooperativeStickyAssignor";
      config.putAll(Map.of("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + assignor,
          "session.timeout.ms", 6000, "heartbeat.interval.ms", 500));
    }
    AtomicBoolean stop = new AtomicBoolean();
    Thread watch = new Thread(() -> {
      try {
        while (System.in.read() >= 0);
      } catch (IOException closed) {
        // means the same
      }
      stop.set(true);
    });
    watch.setDaemon(true);
    watch.start();
    try (var consumer = new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(topic), new Teller());
      while (!stop.get()) {
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(SHORT_WAIT_MS))) {
          System.out.println("record " + topic + "/" + record.partition() + " " + record.offset() + " " + record.value());
        }
        if (byHand) consumer.commitAsync();
      }
      if (byHand) consumer.commitSync();
    }
  }

  /** Prints what a member of a group is told. */
  private static class Teller implements ConsumerRebalanceListener {
    private void tell(String what, Collection<TopicPartition> partitions) {
      System.out.println(what + partitions.stream().map(each -> " " + each.topic() + "/" + each.partition())
          .collect(Collectors.joining()));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
      tell("assigned", partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
      tell("revoked", partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
      tell("lost", partitions);
    }
  }

  private void idempotent(int count) throws Exception {
    Acknowledged acknowledged = new Acknowledged();
    Map<String, Object> config = Map.of("bootstrap.servers", bootstrap, "enable.idempotence", "true", "acks", "all",
        "max.in.flight.requests.per.connection", "5", "delivery.timeout.ms", "120000", "max.block.ms", FIRST_SEND_MS,
        "reconnect.backoff.max.ms", "500");
    try (var producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      for (int i = 0; i < count; i++) {
        producer.send(new ProducerRecord<>(topic, 0, null, Integer.toString(i)), (metadata, failure) -> acknowledged.add(failure));
        // Slow enough for the broker to be killed several times meanwhile.
        if (i % 100 == 99) Thread.sleep(10);
      }
    }
    acknowledged.require(count);
  }

  /** Counts acknowledgements, all of which come on the producer's thread, and keeps the first failure. */
  private static class Acknowledged {
    private volatile int count = 0;
    private final AtomicReference<Exception> failure = new AtomicReference<>();

    void add(Exception exception) {
      if (exception != null) {
        failure.compareAndSet(null, exception);
      } else if (++count % 1000 == 0) {
        System.out.println("acknowledged " + count);
      }
    }

    void require(int expected) throws Exception {
      if (failure.get() != null) throw new IllegalStateException(count + " of " + expected + " are acknowledged", failure.get());
      Client.require(count == expected, count + " of " + expected + " are acknowledged");
    }
  }

  private static void require(boolean condition, String what) {
    if (!condition) throw new IllegalStateException(what);
  }
}
