// Package notice has an example say what it waits for. A process that was killed keeps its locks and permits until their
// leases are over, and a program that is started again would sit there in silence for that long.
package notice

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redlatch/redlatch"
)

const (
	first = time.Second     // waits that are shorter are not worth a line
	again = 5 * time.Second // then the line is printed anew
)

// While prints "<who> waits for <what>" when a wait has lasted a second, and every few seconds from then on, until done is
// called. Calling it again does nothing.
func While(who string, what func(ctx context.Context) string) (done func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var printer sync.WaitGroup
	printer.Go(func() {
		for pause := first; ; pause = again {
			select {
			case <-time.After(pause):
				if text := what(ctx); ctx.Err() == nil {
					fmt.Printf("%s waits for %s\n", who, text)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		printer.Wait() // no line comes later than what the example itself prints next
	}
}

// Lock is While for a wait for locks.
func Lock(who string, locks ...redlatch.Inspector) (done func()) {
	return While(who, func(ctx context.Context) string {
		var texts []string
		for _, lock := range locks {
			if info, err := lock.Inspect(ctx); err != nil {
				texts = append(texts, fmt.Sprintf("%s, of which nothing is known: %v", lock.Name(), err))
			} else {
				for _, holder := range info.Holders {
					texts = append(texts, fmt.Sprintf("%s, which %s has for %v unless that is renewed",
						lock.Name(), holder.Owner, holder.TTL.Round(100*time.Millisecond)))
				}
			}
		}
		if texts == nil {
			return "a lock that is free now"
		}
		return strings.Join(texts, ", and for ")
	})
}
