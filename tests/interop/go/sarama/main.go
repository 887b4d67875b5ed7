// Command sarama is the program of the client sarama.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/IBM/sarama"

	"naru/interop/program"
)

var codecs = map[string]sarama.CompressionCodec{
	"none":   sarama.CompressionNone,
	"gzip":   sarama.CompressionGZIP,
	"snappy": sarama.CompressionSnappy,
	"lz4":    sarama.CompressionLZ4,
	"zstd":   sarama.CompressionZSTD,
}

type client struct{ brokers []string }

func main() {
	program.Main(func(bootstrap string) program.Client { return client{[]string{bootstrap}} })
}

func newConfig() *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	return config
}

func (c client) Admin(topic string) error {
	admin, err := sarama.NewClusterAdmin(c.brokers, newConfig())
	if err != nil {
		return err
	}
	defer admin.Close()

	retention := program.RetentionMs
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1,
		ConfigEntries: map[string]*string{"retention.ms": &retention}}
	if err := admin.CreateTopic(topic, detail, false); err != nil {
		return err
	}
	program.Done("create")
	// Listing asks for the configuration of all topics, too.
	listed, err := admin.ListTopics()
	if err != nil {
		return err
	}
	if listed[topic].NumPartitions != 2 {
		return fmt.Errorf("%s is not listed with 2 partitions: %v", topic, listed)
	}
	program.Done("list")
	described, err := admin.DescribeTopics([]string{topic})
	if err != nil {
		return err
	}
	if described[0].Err != sarama.ErrNoError || len(described[0].Partitions) != 2 {
		return fmt.Errorf("described as %v", described[0])
	}
	program.Done("describe")
	if err := expectConfig(admin, topic, "retention.ms", program.RetentionMs); err != nil {
		return err
	}
	program.Done("describe-configs")
	size := program.MaxMessageBytes
	entry := sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &size}
	entries := map[string]sarama.IncrementalAlterConfigsEntry{"max.message.bytes": entry}
	if err := admin.IncrementalAlterConfig(sarama.TopicResource, topic, entries, false); err != nil {
		return err
	}
	if err := expectConfig(admin, topic, "max.message.bytes", program.MaxMessageBytes); err != nil {
		return err
	}
	program.Done("alter-configs")
	if err := admin.CreatePartitions(topic, 3, nil, false); err != nil {
		return err
	}
	program.Done("create-partitions")
	return nil
}

func expectConfig(admin sarama.ClusterAdmin, topic, name, value string) error {
	resource := &sarama.ConfigResource{Type: sarama.TopicResource, Name: topic}
	described, err := admin.DescribeConfigs([]*sarama.ConfigResource{resource}, sarama.DescribeConfigsOptions{})
	if err != nil {
		return err
	}
	for _, entry := range described[0].Configs {
		if entry.Name == name && entry.Value == value {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s", name, value)
}

func (c client) Delete(topic string) error {
	admin, err := sarama.NewClusterAdmin(c.brokers, newConfig())
	if err != nil {
		return err
	}
	defer admin.Close()
	return admin.DeleteTopic(topic)
}

func (c client) Produce(topic, codec string, count int) error {
	config := newConfig()
	config.Producer.Compression = codecs[codec]
	config.Producer.Flush.Messages = 100
	config.Producer.Flush.Frequency = 20 * time.Millisecond
	return c.send(config, count, func(i int) *sarama.ProducerMessage {
		return &sarama.ProducerMessage{Topic: topic, Key: sarama.ByteEncoder(program.Key(i)),
			Value: sarama.ByteEncoder(program.Value(codec, i)), Timestamp: program.Time(i),
			Headers: []sarama.RecordHeader{{Key: []byte(program.HeaderName), Value: program.Number(i)}}}
	})
}

// send produces the messages 0 to count-1 to partition 0 with acks=all; one request is in flight at a time.
func (c client) send(config *sarama.Config, count int, message func(i int) *sarama.ProducerMessage) error {
	config.Net.MaxOpenRequests = 1
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	producer, err := sarama.NewAsyncProducer(c.brokers, config)
	if err != nil {
		return err
	}
	go func() {
		for i := range count {
			producer.Input() <- message(i)
		}
		producer.AsyncClose()
	}()
	var acknowledged program.Acknowledged
	successes, errors := producer.Successes(), producer.Errors()
	for successes != nil || errors != nil {
		select {
		case _, open := <-successes:
			if !open {
				successes = nil
			} else {
				acknowledged.Add(1, nil)
			}
		case failure, open := <-errors:
			if !open {
				errors = nil
			} else {
				acknowledged.Add(0, failure)
			}
		}
	}
	return acknowledged.Err(count)
}

func (c client) Consume(topic string, count int) error {
	consumer, err := sarama.NewConsumer(c.brokers, newConfig())
	if err != nil {
		return err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		return err
	}
	defer partition.Close()
	for range count {
		m := <-partition.Messages()
		program.PrintRecord(m.Offset, m.Key, m.Value, string(m.Headers[0].Key), m.Headers[0].Value, m.Timestamp)
	}
	return nil
}

func (c client) Follow(topic string, count int) error {
	config := newConfig()
	config.Consumer.MaxWaitTime = program.LongWait
	config.Net.ReadTimeout = 2 * program.LongWait
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.Return.Successes = true
	consumer, err := sarama.NewConsumer(c.brokers, config)
	if err != nil {
		return err
	}
	arrivals := make(chan program.Arrival, count)
	for index := range int32(program.FollowedPartitions) {
		partition, err := consumer.ConsumePartition(topic, index, sarama.OffsetOldest)
		if err != nil {
			return err
		}
		go func() {
			for m := range partition.Messages() {
				arrivals <- program.Arrival{Partition: m.Partition, Offset: m.Offset, Value: m.Value}
			}
		}()
	}
	producer, err := sarama.NewSyncProducer(c.brokers, config)
	if err != nil {
		return err
	}
	return program.Follow(count, func(partition int32, value []byte) error {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Partition: partition, Value: sarama.ByteEncoder(value)})
		return err
	}, arrivals)
}

func (c client) Idempotent(topic string, count int) error {
	config := newConfig()
	config.Producer.Idempotent = true
	config.Producer.Retry.Max = int(program.Patience / (100 * time.Millisecond))
	config.Producer.Retry.Backoff = 100 * time.Millisecond
	config.Metadata.Retry.Max = config.Producer.Retry.Max
	config.Metadata.Retry.Backoff = config.Producer.Retry.Backoff
	return c.send(config, count, func(i int) *sarama.ProducerMessage {
		program.Pace(i)
		return &sarama.ProducerMessage{Topic: topic, Value: sarama.ByteEncoder(program.Number(i))}
	})
}

// member tells what sarama tells it.
type member struct{ topic string }

func (m member) Setup(session sarama.ConsumerGroupSession) error {
	program.Tell("assigned", m.topic, session.Claims()[m.topic])
	return nil
}

func (m member) Cleanup(session sarama.ConsumerGroupSession) error {
	program.Tell("revoked", m.topic, session.Claims()[m.topic])
	return nil
}

func (m member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, open := <-claim.Messages():
			if !open {
				return nil
			}
			program.TellRecord(m.topic, message.Partition, message.Offset, message.Value)
			session.MarkMessage(message, "")
		case <-session.Context().Done():
			return nil
		}
	}
}

func (c client) Group(ctx context.Context, topic, group, _ string) error {
	config := newConfig()
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = program.CommitInterval
	config.Consumer.Group.Session.Timeout = program.SessionTimeout
	config.Consumer.Group.Heartbeat.Interval = program.HeartbeatInterval
	config.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
	config.Metadata.Retry.Max = int(program.Patience / config.Metadata.Retry.Backoff)
	consumer, err := sarama.NewConsumerGroup(c.brokers, group, config)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		// Returns at each rebalance, and when the broker is gone.
		if err := consumer.Consume(ctx, []string{topic}, member{topic}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			time.Sleep(config.Metadata.Retry.Backoff)
		}
	}
	return consumer.Close()
}
