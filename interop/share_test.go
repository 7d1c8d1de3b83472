package interop_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How much of a lock that everybody wants all the time each side gets: docs/redisson.md has the numbers. Sections last
// a millisecond, and each process, of which one is a JVM, has four goroutines or threads.
func TestTheSharesOfABusyLock(t *testing.T) {
	const threads, length, section = 4, 4 * time.Second, time.Millisecond
	w := singleWorld(t)
	for _, c := range []struct {
		kind      string
		processes int
	}{{"lock", 2}, {"fenced", 2}, {"multi", 2}, {"fair", 2}, {"spin", 2}, {"lock", 1}, {"spin", 1}} {
		kind := c.kind
		t.Run(fmt.Sprintf("%s beside %d", kind, c.processes), func(t *testing.T) {
			cases.Add(1)
			o := w.object(kind)
			var golang, java atomic.Int64
			end := time.Now().Add(length)
			all := []<-chan error{start(func() error {
				var result struct{ Shares []int64 }
				err := w.java(t).(*javaActor).call("bench", o, fields{"threads": threads, "millis": length.Milliseconds(), "section": section.Milliseconds()}, &result)
				for _, share := range result.Shares {
					java.Add(share)
				}
				return err
			})}
			for range c.processes {
				process := w.process(t)
				for range threads {
					a := *process
					all = append(all, start(func() error {
						for time.Now().Before(end) {
							if err := a.lock(o, how{}); err != nil {
								return err
							}
							golang.Add(1)
							time.Sleep(section)
							if err := a.unlock(o); err != nil {
								return err
							}
						}
						return nil
					}))
				}
			}
			for _, done := range all {
				await(t, "the end", done)
			}
			require.Positive(t, golang.Load())
			require.Positive(t, java.Load())
			t.Logf("%s beside %d Go processes: Go had it %d times, Java %d times, which is %.1f %%", kind, c.processes, golang.Load(), java.Load(),
				100*float64(java.Load())/float64(golang.Load()+java.Load()))
		})
	}
}
