// What exporters of metrics such as kminion ask a broker, through the library that kminion is made of:
//
//	monitor BOOTSTRAP GROUP
//
// For each line of the standard input it asks once, and prints "metric NAME LABEL VALUE" for each number and "end"; "error TEXT" if it
// could not. It ends when the input does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kversion"
)

const timeout = 30 * time.Second

func main() {
	client, err := kgo.NewClient(kgo.SeedBrokers(os.Args[1]), kgo.RetryTimeout(timeout))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		if err := ask(ctx, kadm.NewClient(client), os.Args[2]); err != nil {
			fmt.Println("error", err)
		}
		fmt.Println("end")
		cancel()
	}
}

func tell(name, label string, value any) {
	fmt.Println("metric", name, label, value)
}

func ask(ctx context.Context, admin *kadm.Client, group string) error {
	for _, part := range []func(context.Context, *kadm.Client) error{version, cluster, offsets, folders, configs} {
		if err := part(ctx, admin); err != nil {
			return err
		}
	}
	return lag(ctx, admin, group)
}

// The version that the library takes the broker for, by the APIs that it offers.
func version(ctx context.Context, admin *kadm.Client) error {
	all, err := admin.ApiVersions(ctx)
	if err != nil {
		return err
	}
	for _, each := range all.Sorted() {
		if each.Err != nil {
			return each.Err
		}
		tell("version", fmt.Sprint(each.NodeID), guess(each))
	}
	return nil
}

func guess(versions kadm.BrokerApiVersions) string {
	known := &kversion.Versions{}
	versions.EachKeySorted(func(key, _, highest int16) { known.SetMaxKeyVersion(key, highest) })
	return known.VersionGuess()
}

func cluster(ctx context.Context, admin *kadm.Client) error {
	metadata, err := admin.Metadata(ctx)
	if err != nil {
		return err
	}
	tell("brokers", "all", len(metadata.Brokers))
	tell("controller", "all", metadata.Controller)
	for _, topic := range metadata.Topics.Sorted() {
		if topic.Err != nil {
			return topic.Err
		}
		tell("partitions", topic.Topic, len(topic.Partitions))
	}
	return nil
}

func offsets(ctx context.Context, admin *kadm.Client) error {
	for name, list := range map[string]func(context.Context, ...string) (kadm.ListedOffsets, error){
		"low": admin.ListStartOffsets, "high": admin.ListEndOffsets, "committed": admin.ListCommittedOffsets} {
		listed, err := list(ctx)
		if err == nil {
			err = listed.Error()
		}
		if err != nil {
			return err
		}
		listed.Each(func(each kadm.ListedOffset) {
			tell(name, fmt.Sprintf("%s/%d", each.Topic, each.Partition), each.Offset)
		})
	}
	return nil
}

func folders(ctx context.Context, admin *kadm.Client) error {
	described, err := admin.DescribeAllLogDirs(ctx, nil)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	described.Each(func(folder kadm.DescribedLogDir) {
		if folder.Err != nil {
			err = folder.Err
		}
		folder.Topics.Each(func(each kadm.DescribedLogDirPartition) { sizes[each.Topic] += each.Size })
	})
	for topic, size := range sizes {
		tell("bytes", topic, size)
	}
	return err
}

func configs(ctx context.Context, admin *kadm.Client) error {
	topics, err := admin.ListTopics(ctx)
	if err != nil {
		return err
	}
	described, err := admin.DescribeTopicConfigs(ctx, topics.Names()...)
	if err != nil {
		return err
	}
	for _, topic := range described {
		if topic.Err != nil {
			return topic.Err
		}
		for _, each := range topic.Configs {
			if each.Key == "cleanup.policy" {
				tell("cleanup", topic.Name, each.MaybeValue())
			}
		}
	}
	return nil
}

func lag(ctx context.Context, admin *kadm.Client, group string) error {
	lags, err := admin.Lag(ctx, group)
	if err == nil {
		err = lags.Error()
	}
	if err != nil {
		return err
	}
	for _, each := range lags.Sorted() {
		tell("state", each.Group, each.State)
		for _, member := range each.Lag.Sorted() {
			tell("lag", fmt.Sprintf("%s/%d", member.Topic, member.Partition), member.Lag)
		}
	}
	return nil
}
