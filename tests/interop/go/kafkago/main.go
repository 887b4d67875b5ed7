// Command kafkago is the program of the client kafka-go.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"naru/interop/program"
)

var codecs = map[string]kafka.Compression{
	"none":   0,
	"gzip":   kafka.Gzip,
	"snappy": kafka.Snappy,
	"lz4":    kafka.Lz4,
	"zstd":   kafka.Zstd,
}

type client struct {
	*kafka.Client
	bootstrap string
}

func main() {
	program.Main(func(bootstrap string) program.Client {
		return client{&kafka.Client{Addr: kafka.TCP(bootstrap), Timeout: time.Minute}, bootstrap}
	})
}

func (c client) Admin(topic string) error {
	ctx := context.Background()
	created, err := c.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: []kafka.TopicConfig{{
		Topic: topic, NumPartitions: 2, ReplicationFactor: 1,
		ConfigEntries: []kafka.ConfigEntry{{ConfigName: "retention.ms", ConfigValue: program.RetentionMs}}}}})
	if err = firstError(err, created.Errors); err != nil {
		return err
	}
	program.Done("create")
	listed, err := c.Metadata(ctx, &kafka.MetadataRequest{})
	if err != nil {
		return err
	}
	if len(listed.Topics) != 1 || listed.Topics[0].Name != topic {
		return fmt.Errorf("listed as %v", listed.Topics)
	}
	program.Done("list")
	described, err := c.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{topic}})
	if err != nil {
		return err
	}
	if described.Topics[0].Error != nil || len(described.Topics[0].Partitions) != 2 {
		return fmt.Errorf("described as %v", described.Topics)
	}
	program.Done("describe")
	if err := c.expectConfig(topic, "retention.ms", program.RetentionMs); err != nil {
		return err
	}
	program.Done("describe-configs")
	if err := c.setMaxMessageBytes(topic); err != nil {
		return err
	}
	if err := c.expectConfig(topic, "max.message.bytes", program.MaxMessageBytes); err != nil {
		return err
	}
	program.Done("alter-configs")
	extended, err := c.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{
		Topics: []kafka.TopicPartitionsConfig{{Name: topic, Count: 3}}})
	if err = firstError(err, extended.Errors); err != nil {
		return err
	}
	program.Done("create-partitions")
	return nil
}

func firstError(err error, errors map[string]error) error {
	for _, each := range errors {
		if err == nil {
			err = each
		}
	}
	return err
}

func (c client) setMaxMessageBytes(topic string) error {
	altered, err := c.IncrementalAlterConfigs(context.Background(), &kafka.IncrementalAlterConfigsRequest{
		Resources: []kafka.IncrementalAlterConfigsRequestResource{{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: topic,
			Configs: []kafka.IncrementalAlterConfigsRequestConfig{{
				Name: "max.message.bytes", Value: program.MaxMessageBytes, ConfigOperation: kafka.ConfigOperationSet}}}}})
	if err != nil {
		return err
	}
	return altered.Resources[0].Error
}

func (c client) expectConfig(topic, name, value string) error {
	described, err := c.DescribeConfigs(context.Background(), &kafka.DescribeConfigsRequest{
		Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kafka.ResourceTypeTopic, ResourceName: topic}}})
	if err != nil {
		return err
	}
	if described.Resources[0].Error != nil {
		return described.Resources[0].Error
	}
	for _, entry := range described.Resources[0].ConfigEntries {
		if entry.ConfigName == name && entry.ConfigValue == value {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s", name, value)
}

func (c client) Delete(topic string) error {
	deleted, err := c.DeleteTopics(context.Background(), &kafka.DeleteTopicsRequest{Topics: []string{topic}})
	return firstError(err, deleted.Errors)
}

func (c client) writer(topic string) *kafka.Writer {
	byMessage := kafka.BalancerFunc(func(m kafka.Message, _ ...int) int { return m.Partition })
	return &kafka.Writer{Addr: c.Addr, Topic: topic, Balancer: byMessage, RequiredAcks: kafka.RequireAll, BatchSize: 100,
		BatchTimeout: 10 * time.Millisecond}
}

func (c client) Produce(topic, codec string, count int) error {
	writer := c.writer(topic)
	writer.Compression = codecs[codec]
	messages := make([]kafka.Message, count)
	for i := range messages {
		messages[i] = kafka.Message{Key: program.Key(i), Value: program.Value(codec, i), Time: program.Time(i),
			Headers: []kafka.Header{{Key: program.HeaderName, Value: program.Number(i)}}}
	}
	if err := writer.WriteMessages(context.Background(), messages...); err != nil {
		return err
	}
	return writer.Close()
}

func (c client) Consume(topic string, count int) error {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{c.bootstrap}, Topic: topic, Partition: 0})
	defer reader.Close()
	for range count {
		m, err := reader.ReadMessage(context.Background())
		if err != nil {
			return err
		}
		program.PrintRecord(m.Offset, m.Key, m.Value, m.Headers[0].Key, m.Headers[0].Value, m.Time)
	}
	return nil
}

// Follow has a reader for each partition: this client knows no others without a group.
func (c client) Follow(topic string, count int) error {
	ctx, arrivals := context.Background(), make(chan program.Arrival, count)
	for partition := range program.FollowedPartitions {
		reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{c.bootstrap}, Topic: topic, Partition: partition,
			MaxWait: program.LongWait})
		go func() {
			for {
				m, err := reader.ReadMessage(ctx)
				if err != nil {
					return
				}
				arrivals <- program.Arrival{Partition: int32(m.Partition), Offset: m.Offset, Value: m.Value}
			}
		}()
	}
	writer := c.writer(topic)
	writer.BatchSize = 1
	return program.Follow(count, func(partition int32, value []byte) error {
		return writer.WriteMessages(ctx, kafka.Message{Partition: int(partition), Value: value})
	}, arrivals)
}

// Idempotent is not: this client has no idempotent producer. A batch whose answer is lost is sent again and doubles.
func (c client) Idempotent(topic string, count int) error {
	writer := c.writer(topic)
	writer.MaxAttempts = 1000
	writer.WriteBackoffMax = program.Patience / 1000
	var acknowledged program.Acknowledged
	for first := 0; first < count; first += 100 {
		messages := make([]kafka.Message, 100)
		for i := range messages {
			messages[i].Value = program.Number(first + i)
		}
		if err := writer.WriteMessages(context.Background(), messages...); err != nil {
			return err
		}
		acknowledged.Add(len(messages), nil)
		program.Pace(first + 99)
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return acknowledged.Err(count)
}

// Group has a reader for each partition that a generation of the group gives it.
func (c client) Group(ctx context.Context, topic, group, _ string) error {
	consumer, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{ID: group, Brokers: []string{c.bootstrap}, Topics: []string{topic},
		GroupBalancers: []kafka.GroupBalancer{kafka.RangeGroupBalancer{}}, SessionTimeout: program.SessionTimeout,
		RebalanceTimeout: program.SessionTimeout, HeartbeatInterval: program.HeartbeatInterval, StartOffset: kafka.FirstOffset,
		JoinGroupBackoff: program.HeartbeatInterval})
	if err != nil {
		return err
	}
	left := make(chan error)
	go func() {
		<-ctx.Done()
		left <- consumer.Close()
	}()
	for {
		generation, err := consumer.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return <-left
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			continue
		}
		c.readGeneration(topic, generation)
	}
}

func (c client) readGeneration(topic string, generation *kafka.Generation) {
	var partitions []int
	var reading sync.WaitGroup
	for _, assigned := range generation.Assignments[topic] {
		partitions = append(partitions, assigned.ID)
	}
	program.Tell("assigned", topic, partitions)
	for _, assigned := range generation.Assignments[topic] {
		reading.Add(1)
		generation.Start(func(ctx context.Context) {
			defer reading.Done()
			c.readPartition(ctx, topic, assigned, generation)
		})
	}
	generation.Start(func(ctx context.Context) {
		<-ctx.Done()
		reading.Wait()
		program.Tell("revoked", topic, partitions)
	})
}

func (c client) readPartition(ctx context.Context, topic string, assigned kafka.PartitionAssignment, generation *kafka.Generation) {
	reader := kafka.NewReader(kafka.ReaderConfig{Brokers: []string{c.bootstrap}, Topic: topic, Partition: assigned.ID,
		MaxWait: program.HeartbeatInterval})
	defer reader.Close()
	if err := reader.SetOffset(assigned.Offset); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	next, committed, last := assigned.Offset, assigned.Offset, time.Now()
	commit := func() {
		if next == committed {
			return
		}
		if err := generation.CommitOffsets(map[string]map[int]int64{topic: {assigned.ID: next}}); err != nil {
			fmt.Fprintln(os.Stderr, "commit:", err)
			return
		}
		committed, last = next, time.Now()
	}
	defer commit()
	for {
		m, err := reader.ReadMessage(ctx)
		if err != nil {
			return
		}
		program.TellRecord(topic, int32(m.Partition), m.Offset, m.Value)
		next = m.Offset + 1
		if time.Since(last) > program.CommitInterval {
			commit()
		}
	}
}
