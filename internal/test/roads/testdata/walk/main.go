// Command walk makes the calls of an rlock one at a time, and writes for each which functions were entered meanwhile: as
// coverage data in the folders 1/NAME to 10/NAME of the folder that it is given. It has to be built with -cover
// -covermode=atomic.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/coverage"
	"strconv"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/cohort"
	"github.com/redlatch/redlatch/internal/rootapi"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/rlock"
)

// times is how often each call is made. What else runs in the process meanwhile is not in all of them.
const times = 10

func main() {
	server := miniredis.NewMiniRedis()
	server.ClockTTL(true) // else a key would never expire
	must(server.Start())
	defer server.Close()
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { must(client.Close()) }()
	cohorts := &session.Of(client, rootapi.For[redlatch.Option](nil)).Cohorts

	for i := range times + 1 { // the first time does what a process does once
		turn := strconv.Itoa(i)
		alone(rlock.New(client, "alone "+turn), turn)
		byScript(rlock.New(client, "by a script "+turn), turn, cohorts)
		for n := 0; !locally(rlock.New(client, fmt.Sprint("locally ", i, n)), turn, cohorts, server); n++ {
			if n == 1000 {
				panic("no lock was handed on without a command")
			}
		}
	}
	must(os.RemoveAll(filepath.Join(os.Args[1], "0")))
}

// alone is a lock that no other call wants.
func alone(lock *rlock.Lock, turn string) {
	begin()
	hold, err := lock.Lock(context.Background())
	end("lock alone", turn)
	must(err)
	begin()
	err = hold.Unlock(context.Background())
	end("unlock alone", turn)
	must(err)
}

// byScript is a lock that this process has had for long when it is given back. The script gives it to another process if
// one waits, and to the waiter of this process if none does.
func byScript(lock *rlock.Lock, turn string, cohorts *cohort.Registry) {
	hold, err := lock.Lock(context.Background())
	must(err)
	begin()
	got := waiter(lock, cohorts)
	end("lock waits", turn)
	time.Sleep(300 * time.Millisecond)
	begin()
	err = hold.Unlock(context.Background())
	next := <-got
	end("unlock hands on by a script", turn)
	must(err)
	must(next.Unlock(context.Background()))
}

// locally is a lock that is handed on to a second waiter: the process hears by then what is said of the lock. It tells
// whether that took no command.
func locally(lock *rlock.Lock, turn string, cohorts *cohort.Registry, server *miniredis.Miniredis) bool {
	hold, err := lock.Lock(context.Background())
	must(err)
	first := waiter(lock, cohorts)
	second := waiter(lock, cohorts)
	must(hold.Unlock(context.Background()))
	hold = <-first
	commands := server.CommandCount()
	begin()
	err = hold.Unlock(context.Background())
	next := <-second
	local := server.CommandCount() == commands
	if local {
		end("unlock hands on locally", turn)
	}
	must(err)
	must(next.Unlock(context.Background()))
	return local
}

// waiter has a call wait for the lock.
func waiter(lock *rlock.Lock, cohorts *cohort.Registry) <-chan *redlatch.Hold {
	waiting := func() int { return cohorts.WaitersFor(lock.Name(), string(redlatch.KindLock)) }
	before, got := waiting(), make(chan *redlatch.Hold)
	go func() {
		hold, err := lock.Lock(context.Background())
		must(err)
		got <- hold
	}()
	for waiting() == before {
		runtime.Gosched()
	}
	return got
}

// begin forgets which functions were entered before.
func begin() { must(coverage.ClearCounters()) }

// end writes which functions were entered since.
func end(road, turn string) {
	folder := filepath.Join(os.Args[1], turn, road)
	must(os.MkdirAll(folder, 0o755))
	must(coverage.WriteMetaDir(folder))
	must(coverage.WriteCountersDir(folder))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}
