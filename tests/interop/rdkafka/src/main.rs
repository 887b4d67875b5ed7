//! The program of the crate rdkafka, which binds librdkafka.

use std::collections::HashSet;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, AlterConfig, NewPartitions, NewTopic, ResourceSpecifier, TopicReplication,
};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::{ClientConfig, FromClientConfig};
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, Rebalance};
use rdkafka::message::{DeliveryResult, Header, Headers, Message, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer, ProducerContext, ThreadedProducer};
use rdkafka::{ClientContext, Offset, TopicPartitionList};

type Outcome = Result<(), Box<dyn Error>>;

const FIRST_TIMESTAMP: i64 = 1_700_000_000_000;
const PATIENCE: Duration = Duration::from_secs(120);
/// So long that a record which does not end the wait of a fetch is missed.
const LONG_WAIT: Duration = Duration::from_secs(40);
const SHORT_WAIT: Duration = Duration::from_millis(100);
const FOLLOWED_PARTITIONS: usize = 4;
const FOLLOW_WINDOW: usize = 100;

#[tokio::main]
async fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, command, bootstrap, topic, rest @ ..] = arguments.as_slice() else {
        return Err("usage: PROGRAM COMMAND BOOTSTRAP TOPIC [CODEC] [COUNT]".into());
    };
    match (command.as_str(), rest) {
        ("admin", []) => admin(bootstrap, topic).await,
        ("delete", []) => delete(bootstrap, topic).await,
        ("produce", [codec, count]) => produce(bootstrap, topic, codec, count.parse()?),
        ("consume", [count]) => consume(bootstrap, topic, count.parse()?),
        ("follow", [count]) => follow(bootstrap, topic, count.parse()?),
        ("group", [name, strategy]) => group(bootstrap, topic, name, strategy),
        ("idempotent", [count]) => idempotent(bootstrap, topic, count.parse()?),
        _ => Err(format!("no command {command} with {} arguments", rest.len()).into()),
    }
}

fn create<T: FromClientConfig>(bootstrap: &str) -> Result<T, Box<dyn Error>> {
    Ok(ClientConfig::new().set("bootstrap.servers", bootstrap).create()?)
}

fn require(condition: bool, what: &str) -> Outcome {
    if condition {
        Ok(())
    } else {
        Err(what.into())
    }
}

async fn admin(bootstrap: &str, topic: &str) -> Outcome {
    let admin: AdminClient<DefaultClientContext> = create(bootstrap)?;
    let options = AdminOptions::new();
    // Records with such old timestamps are kept only without retention.
    let new = NewTopic::new(topic, 2, TopicReplication::Fixed(1)).set("retention.ms", "-1");
    admin.create_topics(&[new], &options).await?.remove(0).map_err(|(_, code)| code)?;
    println!("create");
    let listed = admin.inner().fetch_metadata(None, PATIENCE)?;
    require(listed.topics().iter().any(|each| each.name() == topic), "not listed")?;
    println!("list");
    let described = admin.inner().fetch_metadata(Some(topic), PATIENCE)?;
    require(described.topics()[0].partitions().len() == 2, "number of partitions")?;
    println!("describe");
    require(config(&admin, topic, "retention.ms").await? == "-1", "retention.ms")?;
    println!("describe-configs");
    // The older AlterConfigs, which sets all of a topic's configuration.
    let all =
        AlterConfig::new(ResourceSpecifier::Topic(topic)).set("retention.ms", "-1").set("max.message.bytes", "2000000");
    admin.alter_configs(&[all], &options).await?.remove(0).map_err(|(_, code)| code)?;
    require(config(&admin, topic, "max.message.bytes").await? == "2000000", "max.message.bytes")?;
    println!("alter-configs");
    let more = NewPartitions::new(topic, 3);
    admin.create_partitions(&[more], &options).await?.remove(0).map_err(|(_, code)| code)?;
    println!("create-partitions");
    Ok(())
}

async fn config(admin: &AdminClient<DefaultClientContext>, topic: &str, name: &str) -> Result<String, Box<dyn Error>> {
    let resource = ResourceSpecifier::Topic(topic);
    let described = admin.describe_configs(&[resource], &AdminOptions::new()).await?.remove(0)?;
    let entry = described.get(name).ok_or("not described")?;
    Ok(entry.value.clone().unwrap_or_default())
}

async fn delete(bootstrap: &str, topic: &str) -> Outcome {
    let admin: AdminClient<DefaultClientContext> = create(bootstrap)?;
    admin.delete_topics(&[topic], &AdminOptions::new()).await?.remove(0).map_err(|(_, code)| code)?;
    Ok(())
}

/// Counts acknowledgements and tells the driver about them; a failure ends the program.
#[derive(Default)]
struct Acknowledged(AtomicUsize);

impl ClientContext for Acknowledged {}

impl ProducerContext for Acknowledged {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, _: ()) {
        if let Err((error, _)) = result {
            eprintln!("{error}");
            std::process::exit(1);
        }
        let count = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        if count % 1000 == 0 {
            println!("acknowledged {count}");
        }
    }
}

fn finish(producer: &ThreadedProducer<Acknowledged>, count: usize) -> Outcome {
    producer.flush(PATIENCE)?;
    // The last callbacks run on the producer's thread, maybe after flush() has returned.
    while producer.in_flight_count() > 0 {
        std::thread::yield_now();
    }
    let acknowledged = producer.context().0.load(Ordering::SeqCst);
    require(acknowledged == count, &format!("{acknowledged} of {count} are acknowledged"))
}

fn produce(bootstrap: &str, topic: &str, codec: &str, count: usize) -> Outcome {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("compression.type", codec).set("linger.ms", "20").set("acks", "all");
    let producer = config.create_with_context::<_, ThreadedProducer<_>>(Acknowledged::default())?;
    for i in 0..count {
        let (key, value, number) = (format!("key {i}"), format!("{codec} {i}"), i.to_string());
        let header = Header { key: "number", value: Some(&number) };
        let record = BaseRecord::to(topic).partition(0).key(&key).payload(&value).timestamp(FIRST_TIMESTAMP + i as i64);
        producer.send(record.headers(OwnedHeaders::new().insert(header))).map_err(|(error, _)| error)?;
    }
    finish(&producer, count)
}

fn consume(bootstrap: &str, topic: &str, count: usize) -> Outcome {
    // A group's name has to be there, but is not used for partitions that are assigned by hand.
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", "none").set("enable.auto.commit", "false");
    let consumer: BaseConsumer = config.create()?;
    let mut partitions = TopicPartitionList::new();
    partitions.add_partition_offset(topic, 0, Offset::Beginning)?;
    consumer.assign(&partitions)?;
    for _ in 0..count {
        let message = consumer.poll(PATIENCE).ok_or("nothing arrives")??;
        let header = message.headers().ok_or("no header")?.get_as::<str>(0)?;
        println!(
            "{}\t{}\t{}\t{}={}\t{}",
            message.offset(),
            message.key_view::<str>().ok_or("no key")??,
            message.payload_view::<str>().ok_or("no value")??,
            header.key,
            header.value.unwrap_or_default(),
            message.timestamp().to_millis().unwrap_or_default()
        );
    }
    Ok(())
}

fn follow(bootstrap: &str, topic: &str, count: usize) -> Outcome {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", "none").set("enable.auto.commit", "false");
    config.set("fetch.wait.max.ms", LONG_WAIT.as_millis().to_string());
    config.set("socket.timeout.ms", (2 * LONG_WAIT).as_millis().to_string());
    let consumer: BaseConsumer = config.create()?;
    let mut partitions = TopicPartitionList::new();
    for i in 0..FOLLOWED_PARTITIONS {
        partitions.add_partition_offset(topic, i as i32, Offset::Beginning)?;
    }
    consumer.assign(&partitions)?;

    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("linger.ms", "0");
    let producer = config.create_with_context::<_, ThreadedProducer<_>>(Acknowledged::default())?;
    let (mut heard, mut read, mut sent, mut permitted) = (HashSet::new(), 0, 0, 1);
    while read < count {
        while sent < count.min(permitted) {
            let value = sent.to_string();
            let partition = (sent % FOLLOWED_PARTITIONS) as i32;
            let record = BaseRecord::<(), str>::to(topic).partition(partition).payload(&value);
            producer.send(record).map_err(|(error, _)| error)?;
            sent += 1;
        }
        let first = heard.len() < FOLLOWED_PARTITIONS;
        let Some(message) = consumer.poll(if first { SHORT_WAIT } else { LONG_WAIT / 2 }) else {
            require(first && sent < count, "nothing arrives")?;
            permitted = sent + 1;
            continue;
        };
        let message = message?;
        let value = message.payload_view::<str>().ok_or("no value")??;
        println!("{}\t{}\t{}", message.partition(), message.offset(), value);
        heard.insert(message.partition());
        read += 1;
        permitted = read + if read < count / 2 { 1 } else { FOLLOW_WINDOW };
    }
    finish(&producer, count)
}

fn idempotent(bootstrap: &str, topic: &str, count: usize) -> Outcome {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("enable.idempotence", "true").set("linger.ms", "1");
    config.set("message.timeout.ms", "120000").set("reconnect.backoff.max.ms", "500");
    let producer = config.create_with_context::<_, ThreadedProducer<_>>(Acknowledged::default())?;
    for i in 0..count {
        let value = i.to_string();
        producer.send(BaseRecord::<(), str>::to(topic).partition(0).payload(&value)).map_err(|(error, _)| error)?;
        if i % 100 == 99 {
            // Slow enough for the broker to be killed several times meanwhile.
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    finish(&producer, count)
}

/// Prints what a member of a group is told.
struct Teller;

impl ClientContext for Teller {}

impl ConsumerContext for Teller {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let (what, partitions) = match rebalance {
            Rebalance::Assign(partitions) => ("assigned", partitions),
            Rebalance::Revoke(partitions) => ("revoked", partitions),
            Rebalance::Error(error) => {
                eprintln!("{error}");
                return;
            }
        };
        let names: Vec<String> =
            partitions.elements().iter().map(|each| format!(" {}/{}", each.topic(), each.partition())).collect();
        println!("{what}{}", names.concat());
    }
}

fn group(bootstrap: &str, topic: &str, name: &str, strategy: &str) -> Outcome {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", bootstrap).set("group.id", name).set("auto.offset.reset", "earliest");
    config.set("auto.commit.interval.ms", "200").set("reconnect.backoff.max.ms", "500");
    config.set("partition.assignment.strategy", strategy).set("session.timeout.ms", "6000");
    // Nothing is committed before it is printed: the program may be killed in between.
    config.set("heartbeat.interval.ms", "500").set("enable.auto.offset.store", "false");
    let consumer: BaseConsumer<Teller> = config.create_with_context(Teller)?;
    consumer.subscribe(&[topic])?;
    let stop = Arc::new(AtomicBool::new(false));
    let told = stop.clone();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        told.store(true, Ordering::SeqCst);
    });
    while !stop.load(Ordering::SeqCst) {
        if let Some(Ok(message)) = consumer.poll(SHORT_WAIT) {
            let value = message.payload_view::<str>().ok_or("no value")??;
            println!("record {topic}/{} {} {value}", message.partition(), message.offset());
            let _ = consumer.store_offset_from_message(&message); // in vain if the partition was taken away meanwhile
        }
    }
    Ok(())
}
