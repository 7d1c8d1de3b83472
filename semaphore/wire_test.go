package semaphore_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/internal/test/briefly"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/semaphore"
)

// What Redisson sees: one string with a number, and a message with the new total after every increase. Totals of 0 and
// below are not announced, for its waiters raise at negative ones.
func TestTheWireFormatIsRedissons(t *testing.T) {
	servers := map[string]func(testing.TB) *redistest.Server{
		"miniredis": redistest.Mini,
		"redis":     func(t testing.TB) *redistest.Server { return redistest.Process(t) }, // of our own: the names are fixed
	}
	each := func(test func(t *testing.T, srv *redistest.Server)) {
		for name, start := range servers {
			t.Run(name, func(t *testing.T) { test(t, start(t)) })
		}
	}
	each(func(t *testing.T, srv *redistest.Server) {
		for _, shape := range []struct{ name, channel string }{
			{"s", "redisson_sc:{s}"}, {"{tag}s", "redisson_sc:{tag}s"},
		} {
			t.Run(shape.name, func(t *testing.T) {
				ctx, client := t.Context(), srv.Client(t)
				heard := client.PSubscribe(ctx, "*")
				defer heard.Close()
				_, err := heard.Receive(ctx)
				require.NoError(t, err)
				s := semaphore.New(client, shape.name, briefly.Linger(0))
				says := func(want ...string) {
					t.Helper()
					require.NoError(t, client.Publish(ctx, "end", "").Err())
					var got []string
					for {
						m, err := heard.ReceiveMessage(ctx)
						require.NoError(t, err)
						if m.Channel == "end" {
							break
						}
						require.Equal(t, shape.channel, m.Channel)
						got = append(got, m.Payload)
					}
					require.Equal(t, want, got)
				}
				steps := []struct {
					do    func() error
					value string
					says  []string
				}{
					{func() error { _, err := s.TrySetPermits(ctx, 5); return err }, "5", []string{"5"}},
					{func() error { _, err := s.TrySetPermits(ctx, 6); return err }, "5", nil},
					{func() error { return s.Acquire(ctx, 3) }, "2", nil},
					{func() error { return busy(s.TryAcquire(ctx, 3)) }, "2", nil},
					{func() error { return s.Release(ctx, 2) }, "4", []string{"4"}},
					{func() error { _, err := s.AddPermits(ctx, -10); return err }, "-6", nil},
					{func() error { return s.Release(ctx, 6) }, "0", nil},
					{func() error { _, err := s.AddPermits(ctx, 95); return err }, "95", []string{"95"}},
					{func() error { _, err := s.DrainPermits(ctx); return err }, "0", nil},
					{func() error { _, err := s.ReleaseIfExists(ctx, 2); return err }, "2", []string{"2"}},
					{func() error { _, err := s.Expire(ctx, time.Hour); return err }, "2", nil},
					{func() error { _, err := s.Delete(ctx); return err }, "", nil},
					{func() error { _, err := s.TrySetPermits(ctx, 0); return err }, "0", nil},
				}
				for i, step := range steps {
					require.NoError(t, step.do(), "step %d", i)
					require.Equal(t, step.value, value(t, client, shape.name), "step %d", i)
					says(step.says...)
				}
				require.Equal(t, "string", client.Type(ctx, shape.name).Val())
			})
		}
	})
}

func TestTheNameMapperDecidesTheKeyAndTheChannel(t *testing.T) {
	srv := redistest.Mini(t)
	client, ctx := srv.Client(t), t.Context()
	s := semaphore.New(client, "s", briefly.Linger(0), redlatch.WithNameMapper(func(name string) string { return "app:" + name }))
	require.Equal(t, "s", s.Name())
	heard := client.Subscribe(ctx, "redisson_sc:{app:s}")
	defer heard.Close()
	_, err := heard.Receive(ctx)
	require.NoError(t, err)
	_, err = s.TrySetPermits(ctx, 3)
	require.NoError(t, err)
	m, err := heard.ReceiveMessage(ctx)
	require.NoError(t, err)
	require.Equal(t, "3", m.Payload)
	require.Equal(t, "3", value(t, client, "app:s"))
}

// busy is nil for a refusal, and an error for anything else.
func busy(err error) error {
	if errors.Is(err, redlatch.ErrNotAcquired) {
		return nil
	}
	return fmt.Errorf("not refused: %w", err)
}
