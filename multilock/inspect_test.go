package multilock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/multilock"
)

// A slowly is a member whose Inspect takes a while.
type slowly struct {
	scripted
	after  time.Duration
	answer func() (redlatch.Info, error)
}

func (s slowly) Inspect(context.Context) (redlatch.Info, error) {
	time.Sleep(s.after)
	return s.answer()
}

func TestInspectTakesAsLongAsItsSlowestMemberAndKeepsTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var members []redlatch.Locker
		for i := range 20 {
			members = append(members, slowly{scripted{name: fmt.Sprintf("m%02d", i)}, time.Duration(20-i) * time.Second, func() (redlatch.Info, error) {
				if i == 3 {
					return redlatch.Info{}, errors.New("down")
				}
				return redlatch.Info{Name: fmt.Sprintf("m%02d", i), Exists: i == 7, TTL: time.Duration(i) * time.Second}, nil
			}})
		}
		start := time.Now()
		info, err := multilock.New(members).Inspect(t.Context())
		require.NoError(t, err)
		require.Equal(t, 20*time.Second, time.Since(start))
		for i, m := range info.Members {
			require.Equal(t, fmt.Sprintf("m%02d", i), m.Name)
			require.Equal(t, i == 3, m.Err != nil)
		}
		require.True(t, info.Exists)
		require.Equal(t, 19*time.Second, info.TTL)
	})
}

func TestAPanicOfAMembersInspectIsTheCallsAndAnotherOneIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		panics := func(name string, after time.Duration) redlatch.Locker {
			return slowly{scripted{name: name}, after, func() (redlatch.Info, error) { panic("boom of " + name) }}
		}
		lock := multilock.New([]redlatch.Locker{panics("a", time.Second), panics("b", 2*time.Second)},
			redlatch.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
		raised := func() (value any) {
			defer func() { value = recover() }()
			_, _ = lock.Inspect(t.Context())
			return nil
		}()
		require.ErrorContains(t, raised.(error), "boom of a")
		require.Equal(t, 1, strings.Count(log.String(), "boom of b"))
	})
}
