import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KTable;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.KeyValueStore;

/**
 * Counts the words of the topic "lines", and from these counts the words by their first letter, exactly once, through two repartitions:
 *
 * <pre>WordCount BOOTSTRAP FOLDER</pre>
 *
 * Without caches, each word that is read makes one record in the topic "words" (word, blank, how often it was there so far) and one in
 * "letters" (letter, blank, how many words with it so far). Prints its states, and "replaced REASON" when a thread had to be. It ends in
 * order when its standard input ends.
 */
public class WordCount {
  private static final Serde<String> TEXT = Serdes.String();
  private static final Serde<Long> NUMBER = Serdes.Long();

  public static void main(String[] arguments) throws Exception {
    Properties config = new Properties();
    config.put("application.id", "word-count");
    config.put("bootstrap.servers", arguments[0]);
    config.put("state.dir", arguments[1]);
    config.put("processing.guarantee", "exactly_once_v2");
    config.put("num.stream.threads", 2);
    config.put("statestore.cache.max.bytes", 0);
    config.put("repartition.purge.interval.ms", 1000);
    config.put("reconnect.backoff.max.ms", 200);
    config.put("main.consumer.session.timeout.ms", 6000);
    config.put("main.consumer.heartbeat.interval.ms", 500);
    // Transactions of some size, or one poll would read everything.
    config.put("main.consumer.max.poll.records", 100);
    try (KafkaStreams streams = new KafkaStreams(topology(), config)) {
      streams.setUncaughtExceptionHandler(failure -> {
        tell("replaced " + failure);
        failure.printStackTrace();
        return StreamThreadExceptionResponse.REPLACE_THREAD;
      });
      streams.setStateListener((now, before) -> {
        tell("state " + now);
        if (now == KafkaStreams.State.ERROR) Runtime.getRuntime().halt(1);
      });
      streams.start();
      untilInputEnds();
      streams.close(Duration.ofSeconds(60));
    }
  }

  private static Topology topology() {
    StreamsBuilder builder = new StreamsBuilder();
    KTable<String, Long> words = builder.stream("lines", Consumed.with(TEXT, TEXT))
        .flatMapValues(line -> List.of(line.split(" ")))
        .groupBy((key, word) -> word, Grouped.with("by-word", TEXT, TEXT))
        .count(store("count-of-words"));
    words.toStream().mapValues((word, count) -> word + " " + count).to("words", Produced.with(TEXT, TEXT));
    words.groupBy((word, count) -> KeyValue.pair(word.substring(0, 1), count), Grouped.with("by-letter", TEXT, NUMBER))
        .reduce(Long::sum, (sum, before) -> sum - before, store("count-of-letters"))
        .toStream()
        .mapValues((letter, count) -> letter + " " + count)
        .to("letters", Produced.with(TEXT, TEXT));
    return builder.build();
  }

  private static Materialized<String, Long, KeyValueStore<Bytes, byte[]>> store(String name) {
    return Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as(name).withKeySerde(TEXT).withValueSerde(NUMBER);
  }

  private static void untilInputEnds() {
    try {
      while (System.in.read() >= 0);
    } catch (IOException closed) {
      // means the same
    }
  }

  private static void tell(String what) {
    System.out.println(what.lines().findFirst().orElse(""));
  }
}
