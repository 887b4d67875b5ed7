import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Copies numbers from a topic to another exactly once, in a process of its own, so that it can be killed:
 *
 * <pre>Copier BOOTSTRAP PROTOCOL GROUP TRANSACTIONAL_ID FROM TO</pre>
 *
 * PROTOCOL is that of the group, classic or consumer. What one poll returns, up to 750 records, is one transaction, with the offsets. A
 * number n goes to partition n / P % P of the P partitions, so that nearly every transaction has all of them. Behind each number stand
 * the transaction's name and how many records it has. Prints where it is: begun, sent, offsets, committed; and "aborted REASON",
 * "error REASON" (it ends). It ends in order when its standard input ends.
 */
public class Copier {
  private static final int RECORDS = 750;
  private static final Duration POLL = Duration.ofMillis(100);

  private final KafkaConsumer<String, String> consumer;
  private final KafkaProducer<String, String> producer;
  private final String name;
  private final String to;
  private final int partitions;
  private int transactions = 0;

  private Copier(String bootstrap, String protocol, String group, String transactionalId, String from, String to) {
    Map<String, Object> common = Map.of("bootstrap.servers", bootstrap, "reconnect.backoff.max.ms", 200);
    Map<String, Object> reading = new HashMap<>(common);
    reading.putAll(Map.of("group.id", group, "group.protocol", protocol, "isolation.level", "read_committed", "enable.auto.commit",
        "false", "auto.offset.reset", "earliest", "max.poll.records", RECORDS));
    if (protocol.equals("classic")) reading.putAll(Map.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 500));
    Map<String, Object> writing = new HashMap<>(common);
    writing.putAll(Map.of("transactional.id", transactionalId, "transaction.timeout.ms", 8000, "max.block.ms", 120000));
    consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
    producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
    name = transactionalId + "/" + UUID.randomUUID();
    this.to = to;
    producer.initTransactions();
    partitions = producer.partitionsFor(to).size();
    consumer.subscribe(List.of(from));
  }

  public static void main(String[] arguments) {
    Stop stop = new Stop();
    stop.start();
    try {
      new Copier(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5]).run(stop);
    } catch (KafkaException failure) {
      tell("error " + failure);
      failure.printStackTrace();
      System.exit(1);
    }
  }

  private void run(Stop stop) {
    while (!stop.told) {
      ConsumerRecords<String, String> records = consumer.poll(POLL);
      if (records.isEmpty()) continue;
      try {
        copy(records, consumer.groupMetadata());
      } catch (ProducerFencedException | TimeoutException failure) {
        throw failure; // nothing can be known about this transaction; whoever has the id next ends it
      } catch (KafkaException failure) {
        producer.abortTransaction();
        backToCommitted();
        tell("aborted " + failure);
      }
    }
    consumer.close();
    producer.close();
  }

  private void copy(ConsumerRecords<String, String> records, ConsumerGroupMetadata member) {
    String transaction = " " + name + "/" + transactions++ + " " + records.count();
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    producer.beginTransaction();
    tell("begun");
    for (ConsumerRecord<String, String> record : records) {
      int number = Integer.parseInt(record.value());
      producer.send(new ProducerRecord<>(to, number / partitions % partitions, null, number + transaction));
      offsets.put(new TopicPartition(record.topic(), record.partition()), new OffsetAndMetadata(record.offset() + 1));
    }
    tell("sent");
    producer.sendOffsetsToTransaction(offsets, member);
    tell("offsets");
    producer.commitTransaction();
    tell("committed");
  }

  /** What was read for a transaction that is aborted is read again. */
  private void backToCommitted() {
    Set<TopicPartition> mine = consumer.assignment();
    Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(mine);
    for (TopicPartition partition : mine) {
      OffsetAndMetadata place = committed.get(partition);
      consumer.seek(partition, place == null ? 0 : place.offset());
    }
  }

  private static void tell(String what) {
    System.out.println(what.lines().findFirst().orElse(""));
  }

  /** Notices the end of the standard input. */
  private static class Stop extends Thread {
    volatile boolean told = false;

    Stop() {
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        while (System.in.read() >= 0);
      } catch (IOException closed) {
        // means the same
      }
      told = true;
    }
  }
}
