package interop_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
	"github.com/redlatch/redlatch/permitsemaphore"
	"github.com/redlatch/redlatch/semaphore"
)

// workerVariable makes this program a worker of a storm, told what to do on its standard input.
const workerVariable = "REDLATCH_INTEROP_WORKER"

// An order is what a worker is told; the Java side has the same fields.
type order struct {
	Process string        `json:"process"`
	Witness int           `json:"witness"` // port
	Threads int           `json:"threads"`
	Lease   int64         `json:"lease"` // ms, of the watchdog and of permits
	Wait    int64         `json:"wait"`  // ms
	Objects []stormObject `json:"objects"`

	Mode      string   `json:"mode"`
	Addresses []string `json:"addresses"`
	Master    string   `json:"master"`
}

type stormObject struct {
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	Names []string `json:"names,omitempty"`
}

// A tally is how a worker's asking ended. Late are acquisitions whose answer came too late to be of use. Unconfirmed are
// releases that had no answer in time. Odd are errors that nothing in a storm explains.
type tally struct {
	Granted, Refused, Late, Gone, Unconfirmed, Failures int

	Odd []string
}

// work is the main function of a worker. It ends when the witness says so, and then writes its tally.
func work(in io.Reader) int {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		fmt.Fprintln(os.Stderr, "read the order:", err)
		return 1
	}
	client := o.client()
	defer client.Close()
	var (
		sum tally
		mu  sync.Mutex
		all sync.WaitGroup
	)
	for range o.Threads {
		all.Go(func() {
			one := tally{}
			err := o.run(client, &one)
			mu.Lock()
			defer mu.Unlock()
			sum.Granted += one.Granted
			sum.Refused += one.Refused
			sum.Late += one.Late
			sum.Gone += one.Gone
			sum.Unconfirmed += one.Unconfirmed
			sum.Odd = append(sum.Odd, one.Odd...)
			if err != nil {
				sum.Odd = append(sum.Odd, err.Error())
			}
		})
	}
	all.Wait()
	if err := json.NewEncoder(os.Stdout).Encode(sum); err != nil {
		return 1
	}
	return 0
}

func (o *order) client() redis.UniversalClient {
	var addrs []string
	for _, address := range o.Addresses {
		addrs = append(addrs, strings.TrimPrefix(address, "redis://"))
	}
	switch o.Mode {
	case "cluster":
		return redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
	case "sentinel":
		return redis.NewFailoverClient(&redis.FailoverOptions{MasterName: o.Master, SentinelAddrs: addrs})
	}
	return redis.NewClient(&redis.Options{Addr: addrs[0]})
}

func (o *order) run(client redlatch.Client, sum *tally) error {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", o.Witness))
	if err != nil {
		return err
	}
	defer conn.Close()
	lines := bufio.NewScanner(conn)
	say := func(format string, args ...any) string {
		fmt.Fprintf(conn, format+"\n", args...)
		if !lines.Scan() {
			return "stop"
		}
		return lines.Text()
	}
	for answer := say("hello %s", o.Process); answer != "stop"; {
		object := o.Objects[rand.IntN(len(o.Objects))]
		say("ask %s", object.Name)
		mode, token, back, err := o.take(client, object)
		if err != nil {
			sum.Refused++
			switch {
			case errors.Is(err, redlatch.ErrNotAcquired):
			case errors.Is(err, context.DeadlineExceeded): // a worker that was paused for longer than its wait had no answer in time
			case errors.Is(err, redlatch.ErrUnavailable): // or it was granted, and the pause was longer than the lease
				sum.Late++
			default:
				sum.Odd = append(sum.Odd, fmt.Sprintf("take %v: %v", object, err))
			}
			answer = say("refused")
			continue
		}
		sum.Granted++
		say("enter %s %d", mode, token)
		if rand.IntN(4) == 0 {
			time.Sleep(time.Duration(rand.IntN(3000)) * time.Microsecond)
		}
		answer = say("exit")
		if err := back(context.Background()); err != nil {
			sum.Gone++
			switch {
			case errors.Is(err, redlatch.ErrLost):
			case errors.Is(err, redlatch.ErrUncertain), errors.Is(err, context.DeadlineExceeded):
				sum.Unconfirmed++
			default:
				sum.Odd = append(sum.Odd, fmt.Sprintf("give back %v: %v", object, err))
			}
		}
		time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
	}
	return nil
}

// take takes the object as the Java side does, and returns how to give it back.
func (o *order) take(client redlatch.Client, s stormObject) (mode string, token int64, back func(context.Context) error, err error) {
	ctx := context.Background()
	lease, wait := time.Duration(o.Lease)*time.Millisecond, redlatch.WithWait(time.Duration(o.Wait)*time.Millisecond)
	opts := []redlatch.Option{redlatch.WithWatchdogTimeout(lease)}
	switch s.Kind {
	case "semaphore":
		pool := semaphore.New(client, s.Name)
		return "permit", 0, func(ctx context.Context) error { return pool.Release(ctx, 1) }, pool.Acquire(ctx, 1, wait)
	case "permits":
		permit, err := permitsemaphore.New(client, s.Name, opts...).Acquire(ctx, 1, wait)
		if err != nil {
			return "", 0, nil, err
		}
		return "permit", 0, permit.Release, nil
	case "rw":
		s.Kind = "read"
		if rand.IntN(4) == 0 {
			s.Kind = "write"
		}
	case "fair", "nonreentrantfair":
		opts = append(opts, fairlock.WithPatience(lease))
	}
	hold, err := goLocks[s.Kind](client, object{kind: s.Kind, name: s.Name, names: strings.Join(s.Names, " ")}, opts...).Lock(ctx, wait)
	if err != nil {
		return "", 0, nil, err
	}
	mode = "alone"
	if s.Kind == "read" {
		mode = "shared"
	}
	return mode, hold.Token(), hold.Unlock, nil
}
