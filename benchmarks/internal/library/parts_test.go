package library

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// BenchmarkOneCaller takes apart what one caller pays: the commands of a primitive sent by bare go-redis, the primitive with a
// context that cannot be cancelled, and with one that can. Each is a multiple of the floor, two bare EVALSHA; more is better.
//
// Blocks of a few milliseconds take turns, for the speed of a machine changes from second to second.
func BenchmarkOneCaller(b *testing.B) {
	config := placeFor(b)
	cancellable, cancel := context.WithCancel(b.Context())
	defer cancel()
	for _, p := range Primitives {
		if !p.Own || p.Servers > 0 { // what is sent to several servers at once has no such order
			continue
		}
		b.Run(p.Name, func(b *testing.B) {
			floor := pair(b, open(b, bareGoRedis, config), "floor")
			whole := pair(b, open(b, p.Library, config), "key of "+p.Name)
			parts := []struct {
				unit string
				run  func(context.Context)
				ctx  context.Context
			}{
				{"us/floor", floor, context.Background()},
				{"commands", replay(b, open(b, p.Library, config), "another of "+p.Name), context.Background()},
				{"uncancelled", whole, context.Background()},
				{"cancellable", whole, cancellable},
			}
			took := make([][]float64, len(parts))
			for range b.N {
				for i, part := range parts {
					if part.run == nil {
						continue
					}
					took[i] = append(took[i], microseconds(part.ctx, part.run))
				}
			}
			for i, part := range parts {
				if part.run == nil {
					continue
				}
				slices.Sort(took[i])
				value := took[i][len(took[i])/2]
				if i > 0 {
					value = took[0][len(took[0])/2] / value
				}
				b.ReportMetric(value, part.unit)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// microseconds runs for a short time and says how long one run took.
func microseconds(ctx context.Context, run func(context.Context)) float64 {
	const block = 5 * time.Millisecond
	begun, count := time.Now(), 0
	for time.Since(begun) < block {
		run(ctx)
		count++
	}
	return float64(time.Since(begun).Nanoseconds()) / float64(count) / 1000
}

// pair takes a key and gives it back.
func pair(b *testing.B, client Client, key string) func(context.Context) {
	handle, err := client.Handle(key)
	require.NoError(b, err)
	return func(ctx context.Context) {
		if err := handle.Lock(ctx); err != nil {
			b.Fatal(err)
		}
		if err := handle.Unlock(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// first is the client of a primitive on one server.
func (p *place) first() *redis.Client { return p.clients[0] }

// replay sends, by go-redis alone, what client sends for a pair. It is nil where the server does not do the same command twice.
func replay(b *testing.B, client Client, key string) func(context.Context) {
	of := client.(interface{ first() *redis.Client }).first()
	whole := pair(b, client, key)
	for range 3 { // the scripts are loaded, and the process is known
		whole(context.Background())
	}
	var heard recorder
	of.AddHook(&heard)
	whole(context.Background())
	require.NotEmpty(b, heard.sent)
	bare := redis.NewClient(of.Options())
	b.Cleanup(func() { require.NoError(b, bare.Close()) })
	send := func(ctx context.Context) (err error) {
		for _, like := range heard.sent {
			var cmd redis.Cmder
			if _, number := like.(interface{ SetVal(int64) }); number {
				cmd = redis.NewIntCmd(ctx, like.Args()...)
			} else {
				cmd = redis.NewSliceCmd(ctx, like.Args()...)
			}
			cmd.SetFirstKeyPos(3)
			err = errors.Join(err, bare.Process(ctx, cmd))
		}
		return err
	}
	if send(context.Background()) != nil {
		return nil
	}
	return func(ctx context.Context) {
		if err := send(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// A recorder remembers the scripts that a client sends.
type recorder struct{ sent []redis.Cmder }

func (r *recorder) DialHook(next redis.DialHook) redis.DialHook { return next }

func (r *recorder) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (r *recorder) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "evalsha" {
			r.sent = append(r.sent, cmd)
		}
		return next(ctx, cmd)
	}
}
