// Command franz is the program of the client franz-go.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"naru/interop/program"
)

var codecs = map[string]kgo.CompressionCodec{
	"none":   kgo.NoCompression(),
	"gzip":   kgo.GzipCompression(),
	"snappy": kgo.SnappyCompression(),
	"lz4":    kgo.Lz4Compression(),
	"zstd":   kgo.ZstdCompression(),
}

type franz struct{ bootstrap string }

func main() {
	program.Main(func(bootstrap string) program.Client { return franz{bootstrap} })
}

func (f franz) client(options ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append(options, kgo.SeedBrokers(f.bootstrap))...)
}

func (f franz) Admin(topic string) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	admin, ctx := kadm.NewClient(client), context.Background()

	configs := map[string]*string{"retention.ms": kadm.StringPtr(program.RetentionMs)}
	if _, err := admin.CreateTopic(ctx, 2, 1, configs, topic); err != nil {
		return err
	}
	program.Done("create")
	listed, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	if !listed.Has(topic) {
		return fmt.Errorf("%s is not listed", topic)
	}
	program.Done("list")
	described, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return err
	}
	if count := len(described[topic].Partitions); count != 2 {
		return fmt.Errorf("%d partitions", count)
	}
	program.Done("describe")
	if err := expectConfig(ctx, admin, topic, "retention.ms", program.RetentionMs); err != nil {
		return err
	}
	program.Done("describe-configs")
	alter := kadm.AlterConfig{Op: kadm.SetConfig, Name: "max.message.bytes", Value: kadm.StringPtr(program.MaxMessageBytes)}
	altered, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{alter}, topic)
	if err != nil {
		return err
	}
	if err := altered[0].Err; err != nil {
		return err
	}
	if err := expectConfig(ctx, admin, topic, "max.message.bytes", program.MaxMessageBytes); err != nil {
		return err
	}
	program.Done("alter-configs")
	created, err := admin.CreatePartitions(ctx, 1, topic)
	if err != nil {
		return err
	}
	if err := created.Error(); err != nil {
		return err
	}
	program.Done("create-partitions")
	return nil
}

func expectConfig(ctx context.Context, admin *kadm.Client, topic, name, value string) error {
	described, err := admin.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return err
	}
	if described[0].Err != nil {
		return described[0].Err
	}
	for _, config := range described[0].Configs {
		if config.Key == name && config.MaybeValue() == value {
			return nil
		}
	}
	return fmt.Errorf("%s is not %s: %v", name, value, described[0].Configs)
}

func (f franz) Delete(topic string) error {
	client, err := f.client()
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = kadm.NewClient(client).DeleteTopic(context.Background(), topic)
	return err
}

func (f franz) Produce(topic, codec string, count int) error {
	client, err := f.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codecs[codec]),
		kgo.DisableIdempotentWrite(), kgo.MaxProduceRequestsInflightPerBroker(1))
	if err != nil {
		return err
	}
	defer client.Close()
	var acknowledged program.Acknowledged
	for i := range count {
		record := &kgo.Record{Topic: topic, Key: program.Key(i), Value: program.Value(codec, i), Timestamp: program.Time(i),
			Headers: []kgo.RecordHeader{{Key: program.HeaderName, Value: program.Number(i)}}}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) { acknowledged.Add(1, err) })
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	return acknowledged.Err(count)
}

func (f franz) Consume(topic string, count int) error {
	start := map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().AtStart()}}
	client, err := f.client(kgo.ConsumePartitions(start))
	if err != nil {
		return err
	}
	defer client.Close()
	for read := 0; read < count; {
		fetches := client.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) {
			program.PrintRecord(r.Offset, r.Key, r.Value, r.Headers[0].Key, r.Headers[0].Value, r.Timestamp)
			read++
		})
	}
	return nil
}

func (f franz) Follow(topic string, count int) error {
	start := map[int32]kgo.Offset{}
	for partition := range int32(program.FollowedPartitions) {
		start[partition] = kgo.NewOffset().AtStart()
	}
	client, err := f.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: start}),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.FetchMaxWait(program.LongWait))
	if err != nil {
		return err
	}
	ctx, arrivals := context.Background(), make(chan program.Arrival, count)
	go func() {
		for {
			client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				arrivals <- program.Arrival{Partition: r.Partition, Offset: r.Offset, Value: r.Value}
			})
		}
	}()
	return program.Follow(count, func(partition int32, value []byte) error {
		return client.ProduceSync(ctx, &kgo.Record{Topic: topic, Partition: partition, Value: value}).FirstErr()
	}, arrivals)
}

func (f franz) Idempotent(topic string, count int) error {
	// Idempotence is on unless it is switched off; the client decides how many requests are in flight.
	client, err := f.client(kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.RecordDeliveryTimeout(program.Patience))
	if err != nil {
		return err
	}
	defer client.Close()
	var acknowledged program.Acknowledged
	for i := range count {
		record := &kgo.Record{Topic: topic, Value: program.Number(i)}
		client.Produce(context.Background(), record, func(_ *kgo.Record, err error) { acknowledged.Add(1, err) })
		program.Pace(i)
	}
	if err := client.Flush(context.Background()); err != nil {
		return err
	}
	return acknowledged.Err(count)
}

func (f franz) Group(ctx context.Context, topic, group, strategy string) error {
	balancer := kgo.RangeBalancer()
	if strategy == "cooperative-sticky" {
		balancer = kgo.CooperativeStickyBalancer()
	}
	tell := func(what string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			program.Tell(what, topic, partitions[topic])
		}
	}
	revoked := func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
		if err := client.CommitMarkedOffsets(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "commit:", err)
		}
		program.Tell("revoked", topic, partitions[topic])
	}
	client, err := f.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.Balancers(balancer),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.SessionTimeout(program.SessionTimeout),
		kgo.HeartbeatInterval(program.HeartbeatInterval), kgo.AutoCommitMarks(), kgo.AutoCommitInterval(program.CommitInterval),
		kgo.BlockRebalanceOnPoll(), kgo.OnPartitionsAssigned(tell("assigned")), kgo.OnPartitionsRevoked(revoked),
		kgo.OnPartitionsLost(tell("lost")))
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		client.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			program.TellRecord(topic, r.Partition, r.Offset, r.Value)
			client.MarkCommitRecords(r)
		})
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	return nil
}
