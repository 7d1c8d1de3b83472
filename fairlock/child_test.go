package fairlock_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/fairlock"
)

// A child is this test's binary run again, as a process of its own that waits for the lock when it is told to, and may
// be killed.
type child struct {
	cmd   *exec.Cmd
	input *bufio.Writer
	pipe  interface{ Close() error }
}

const childVariable = "REDLATCH_FAIRLOCK_CHILD" // address and name, separated by a space

// How long children wait for one another's dead, and for a dead holder.
const (
	childPatience = time.Second
	childWatchdog = 2 * time.Second
)

func startChild(t *testing.T, addr, name string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+addr+" "+name)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{cmd: cmd, input: bufio.NewWriter(pipe), pipe: pipe}
	t.Cleanup(c.kill)
	return c
}

// tell sends "lock <number>", "cancel <number>", or "hold <number>" for a lock that is not given back.
func (c *child) tell(t *testing.T, command string, number int) {
	t.Helper()
	_, err := fmt.Fprintln(c.input, command, number)
	require.NoError(t, err)
	require.NoError(t, c.input.Flush())
}

// kill ends the process at once and reaps it. A second time it does nothing.
func (c *child) kill() {
	_ = c.cmd.Process.Kill() // fails only when it has ended
	_ = c.cmd.Wait()         // being killed is an error to Wait
	_ = c.pipe.Close()
}

// runIfChild is the child's whole life: it ends with its input.
func runIfChild() {
	addr, name, ok := strings.Cut(os.Getenv(childVariable), " ")
	if !ok {
		return
	}
	client := redis.NewClient(&redis.Options{Addr: addr})
	lock := fairlock.New(client, name, fairlock.WithPatience(childPatience), redlatch.WithWatchdogTimeout(childWatchdog))
	var (
		mu      sync.Mutex
		cancels = map[int]context.CancelFunc{}
	)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var (
			command string
			number  int
		)
		if _, err := fmt.Sscan(input.Text(), &command, &number); err != nil {
			panic(err)
		}
		if command == "cancel" {
			mu.Lock()
			cancels[number]()
			mu.Unlock()
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		mu.Lock()
		cancels[number] = cancel
		mu.Unlock()
		if command == "hold" {
			go keep(ctx, lock)
			continue
		}
		go serve(ctx, client, lock, name, number)
	}
	os.Exit(0)
}

func keep(ctx context.Context, lock *fairlock.Lock) {
	if err := lock.Do(ctx, func(ctx context.Context) error {
		<-ctx.Done()
		return nil
	}); err != nil {
		panic(err)
	}
}

// serve takes the lock, notes that it did, and gives it back. That nobody else is inside is seen by the server.
func serve(ctx context.Context, client *redis.Client, lock *fairlock.Lock, name string, number int) {
	hold, err := lock.Lock(ctx)
	if err != nil {
		client.RPush(context.Background(), name+":left", number)
		return
	}
	background := context.Background()
	client.RPush(background, name+":served", number)
	if inside, err := client.Incr(background, name+":inside").Result(); err != nil || inside != 1 {
		client.RPush(background, name+":wrong", fmt.Sprint(number, " found inside ", inside, err))
	}
	time.Sleep(time.Millisecond)
	client.Decr(background, name+":inside")
	if err := hold.Unlock(background); err != nil {
		client.RPush(background, name+":wrong", fmt.Sprint(number, ": ", err))
	}
}
