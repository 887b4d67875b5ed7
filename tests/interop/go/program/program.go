// Package program has what the programs of the three Go clients share: the command line, what is produced, and what is printed.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

const (
	// FirstTimestamp is the one of record 0, in milliseconds; it is fixed, so that the driver knows what to expect.
	FirstTimestamp = 1700000000000
	HeaderName     = "number"
	// RetentionMs keeps records with such old timestamps from being deleted.
	RetentionMs = "-1"
	// MaxMessageBytes is what the admin command changes max.message.bytes to.
	MaxMessageBytes = "2000000"
	// Patience is how long a producer keeps trying while the broker is away.
	Patience = 2 * time.Minute
	// FollowedPartitions is how many partitions the follow command reads.
	FollowedPartitions = 4
	// LongWait of a fetch is so long that a record which does not end it is missed.
	LongWait     = 40 * time.Second
	shortWait    = 100 * time.Millisecond
	followWindow = 100
)

// Client does each command with one client library; an error ends the program with exit code 1.
type Client interface {
	Admin(topic string) error
	Delete(topic string) error
	Produce(topic, codec string, count int) error
	Consume(topic string, count int) error
	// Follow passes a function that sends one record and waits for its acknowledgement, and the records as they arrive, to
	// program.Follow.
	Follow(topic string, count int) error
	Idempotent(topic string, count int) error
	// Group reads as a member of a group and tells what happens to it, until the context ends; then it leaves in order.
	Group(ctx context.Context, topic, group, strategy string) error
}

// Main runs the command line PROGRAM COMMAND BOOTSTRAP TOPIC, with what else the command needs.
func Main(newClient func(bootstrap string) Client) {
	if len(os.Args) < 4 {
		fail(fmt.Errorf("usage: PROGRAM admin|delete|produce|consume|follow|idempotent|group BOOTSTRAP TOPIC ..."))
	}
	client, topic := newClient(os.Args[2]), os.Args[3]
	var err error
	switch os.Args[1] {
	case "admin":
		err = client.Admin(topic)
	case "delete":
		err = client.Delete(topic)
	case "produce":
		err = client.Produce(topic, os.Args[4], number(os.Args[5]))
	case "consume":
		err = client.Consume(topic, number(os.Args[4]))
	case "follow":
		err = client.Follow(topic, number(os.Args[4]))
	case "idempotent":
		err = client.Idempotent(topic, number(os.Args[4]))
	case "group":
		err = client.Group(untilInputEnds(), topic, os.Args[4], os.Args[5])
	default:
		err = fmt.Errorf("no command %s", os.Args[1])
	}
	if err != nil {
		fail(err)
	}
}

func untilInputEnds() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	if err != nil {
		fail(err)
	}
	return value
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// Done tells the driver that a step of the admin command has succeeded.
func Done(step string) { fmt.Println(step) }

func Key(i int) []byte                 { return fmt.Appendf(nil, "key %d", i) }
func Value(codec string, i int) []byte { return fmt.Appendf(nil, "%s %d", codec, i) }
func Number(i int) []byte              { return strconv.AppendInt(nil, int64(i), 10) }
func Time(i int) time.Time             { return time.UnixMilli(FirstTimestamp + int64(i)) }

// PrintRecord prints a record as the driver compares it.
func PrintRecord(offset int64, key, value []byte, headerName string, header []byte, timestamp time.Time) {
	fmt.Printf("%d\t%s\t%s\t%s=%s\t%d\n", offset, key, value, headerName, header, timestamp.UnixMilli())
}

const (
	// SessionTimeout is the shortest that a broker allows by default.
	SessionTimeout    = 6 * time.Second
	HeartbeatInterval = 500 * time.Millisecond
	CommitInterval    = 200 * time.Millisecond
)

// Tell prints what a member of a group is told about partitions: assigned, revoked or lost.
func Tell[P int | int32](what, topic string, partitions []P) {
	line := what
	for _, partition := range partitions {
		line += fmt.Sprintf(" %s/%d", topic, partition)
	}
	fmt.Println(line)
}

// TellRecord prints a record that a member of a group has read.
func TellRecord(topic string, partition int32, offset int64, value []byte) {
	fmt.Printf("record %s/%d %d %s\n", topic, partition, offset, value)
}

// Arrival is a record that the follow command has read.
type Arrival struct {
	Partition int32
	Offset    int64
	Value     []byte
}

// Follow sends records to one partition after the other while a consumer waits for them: one at a time, in the second half some
// together. At first a client may fetch from some partitions only, so until all are heard from, one more is sent if none arrives.
func Follow(count int, send func(partition int32, value []byte) error, arrivals <-chan Arrival) error {
	heard, read, sent, permitted := map[int32]bool{}, 0, 0, 1
	for read < count {
		for ; sent < min(permitted, count); sent++ {
			if err := send(int32(sent%FollowedPartitions), Number(sent)); err != nil {
				return err
			}
		}
		first, patience := len(heard) < FollowedPartitions, LongWait/2
		if first {
			patience = shortWait
		}
		select {
		case arrival := <-arrivals:
			fmt.Printf("%d\t%d\t%s\n", arrival.Partition, arrival.Offset, arrival.Value)
			heard[arrival.Partition] = true
			read++
			permitted = read + 1
			if read >= count/2 {
				permitted = read + followWindow
			}
		case <-time.After(patience):
			if !first || sent == count {
				return errors.New("nothing arrives")
			}
			permitted = sent + 1
		}
	}
	return nil
}

// Pace keeps the idempotent command slow enough for the broker to be killed several times in its course.
func Pace(i int) {
	if i%100 == 99 {
		time.Sleep(10 * time.Millisecond)
	}
}

// Acknowledged counts acknowledgements, tells the driver about them, and remembers the first failure. Safe for all goroutines.
type Acknowledged struct {
	mutex sync.Mutex
	count int
	err   error
}

func (a *Acknowledged) Add(count int, err error) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if err != nil {
		if a.err == nil {
			a.err = err
		}
		return
	}
	before := a.count
	a.count += count
	if before/1000 != a.count/1000 {
		fmt.Printf("acknowledged %d\n", a.count)
	}
}

// Err is the first failure, or that not all of `expected` were acknowledged.
func (a *Acknowledged) Err(expected int) error {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.err == nil && a.count != expected {
		return fmt.Errorf("%d of %d are acknowledged", a.count, expected)
	}
	return a.err
}
