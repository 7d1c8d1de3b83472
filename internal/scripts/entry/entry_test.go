package entry_test

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/registry"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/statetest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// bench is one client of the registry on one server.
type bench struct {
	*testing.T
	srv   *redistest.Server
	rdb   *redis.Client
	names entry.Names
}

func each(t *testing.T, test func(b *bench)) {
	redistest.Each(t, func(t *testing.T, srv *redistest.Server) {
		base := srv.Key(t, "{b}")
		test(&bench{t, srv, srv.Client(t), entry.Names{Index: base + "index", Entry: base + "entry", Asked: base + "asked", Watched: base + "watched", UUID: "u"}})
	})
}

func (b *bench) write(change func(r *entry.Report)) entry.Reply {
	b.Helper()
	r := entry.Report{Names: b.names, TTL: time.Minute}
	change(&r)
	reply, err := statetest.Send(b.Context(), b.rdb, entry.Write(r))
	require.NoError(b, err)
	return reply
}

func (b *bench) now() int64 {
	b.Helper()
	now, err := b.rdb.Time(b.Context()).Result()
	require.NoError(b, err)
	return now.UnixMilli()
}

func (b *bench) fields() map[string]string {
	b.Helper()
	all, err := b.rdb.HGetAll(b.Context(), b.names.Entry).Result()
	require.NoError(b, err)
	return all
}

var (
	things = []registry.Thing{
		{Kind: "lock", Key: "a,b@ \x00\xff", Holds: 2, HeldSince: entry.Ago(7 * time.Second), Waits: 3, Waited: 90,
			Owners: []registry.Owner{{ID: "7", Since: entry.Ago(7 * time.Second)}, {ID: "8", Since: entry.Ago(2 * time.Second)}}},
		{Kind: "semaphore", Key: "s", Waiters: 5, WaitingSince: entry.Ago(time.Hour)},
	}
	whole = func(r *entry.Report) {
		r.Whole, r.About, r.Age, r.Things = true, `{"v":1}`, time.Hour, things
	}
)

// parts are those of a field, with its times as what they are before now.
func parts(t *testing.T, value string, now int64, times ...int) (texts []string, ages []int64) {
	t.Helper()
	texts = strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(",@ ", r) })
	for i := len(times) - 1; i >= 0; i-- {
		at, err := strconv.ParseInt(texts[times[i]], 10, 64)
		require.NoError(t, err)
		ages = append([]int64{now - at}, ages...)
		texts[times[i]] = "then"
	}
	return texts, ages
}

// near tells that ages are these, and what has passed meanwhile.
func near(t *testing.T, passed int64, ages []int64, want ...time.Duration) {
	t.Helper()
	for i, age := range ages {
		require.GreaterOrEqual(t, age, want[i].Milliseconds())
		require.LessOrEqual(t, age, want[i].Milliseconds()+passed)
	}
}

func TestAnEntryIsWrittenWithTimesOfTheServersClock(t *testing.T) {
	each(t, func(b *bench) {
		start, before := time.Now(), b.now()
		require.Equal(b, entry.Reply{Written: true, Entries: 1}, b.write(whole))
		fields, now := b.fields(), b.now()
		passed := now - before
		require.Len(b, fields, 5)

		text, ages := parts(b.T, fields[things[0].Field()], now, 1, 7, 9)
		require.Equal(b, strings.Fields("2 then 0 0 3 90 7 then 8 then"), text)
		near(b.T, passed, ages, 7*time.Second, 7*time.Second, 2*time.Second)
		text, ages = parts(b.T, fields[things[1].Field()], now, 3)
		require.Equal(b, strings.Fields("0 0 5 then 0 0"), text)
		near(b.T, passed, ages, time.Hour)

		_, ages = parts(b.T, fields["seen"], now, 0)
		near(b.T, passed, ages, 0)
		started := strings.TrimSuffix(strings.TrimPrefix(fields["about"], `{"v":1,"started":`), "}")
		_, ages = parts(b.T, started, now, 0)
		near(b.T, passed, ages, time.Hour)

		for _, key := range []string{b.names.Index, b.names.Entry} {
			ttl, err := b.rdb.PTTL(b.Context(), key).Result()
			require.NoError(b, err)
			require.LessOrEqual(b, ttl, time.Minute, key)
			require.GreaterOrEqual(b, ttl, time.Minute-time.Since(start)-2*time.Millisecond, key)
		}
		ends, err := b.rdb.ZScore(b.Context(), b.names.Index, "u").Result()
		require.NoError(b, err)
		near(b.T, passed, []int64{now + time.Minute.Milliseconds() - int64(ends)}, 0)
	})
}

func TestOnlyWhatAReportNamesIsChanged(t *testing.T) {
	each(t, func(b *bench) {
		b.write(whole)
		before := b.fields()
		b.write(func(r *entry.Report) {
			r.Removed, r.Things = []string{things[0].Field()}, []registry.Thing{{Kind: "lock", Key: "new", Holds: 1}}
		})
		after := b.fields()
		require.Equal(b, before["about"], after["about"])
		require.Equal(b, before[things[1].Field()], after[things[1].Field()])
		require.NotContains(b, after, things[0].Field())
		require.Contains(b, after, "t:lock:new")

		b.write(func(r *entry.Report) { r.Whole, r.About = true, `{"v":1}` })
		require.Len(b, b.fields(), 3)
	})
}

func TestAnEntryThatHasGoneIsNotWrittenInPart(t *testing.T) {
	each(t, func(b *bench) {
		require.Equal(b, entry.Reply{}, b.write(func(r *entry.Report) { r.Things = things }))
		require.Empty(b, b.fields())
	})
}

// Whoever may write to an index, and to nothing else, can put names there that would never leave it.
func TestMembersThatEndLaterThanAnyEntryDoesLeaveTheIndex(t *testing.T) {
	each(t, func(b *bench) {
		late := float64(b.now() + registry.LongestEntry.Milliseconds())
		forged := []redis.Z{{Member: "honest", Score: late}, {Member: "far", Score: late + 7_200_000}, {Member: "ever", Score: math.Inf(1)}}
		for i := range 2000 {
			forged = append(forged, redis.Z{Member: fmt.Sprint("forged", i), Score: 9e15})
		}
		require.NoError(b, b.rdb.ZAdd(b.Context(), b.names.Index, forged...).Err())
		require.Equal(b, entry.Reply{Written: true, Entries: 2}, b.write(whole))
		members, err := b.rdb.ZRange(b.Context(), b.names.Index, 0, -1).Result()
		require.NoError(b, err)
		require.ElementsMatch(b, []string{"honest", "u"}, members)
		require.Equal(b, "5000", b.fields()["every"])
	})
}

func TestAnEntrySaysHowOftenItsClientReports(t *testing.T) {
	each(t, func(b *bench) {
		for _, others := range []int{0, 100, 1000, 3000} {
			var members []redis.Z
			for i := range others {
				members = append(members, redis.Z{Member: fmt.Sprint("other", i), Score: float64(b.now() + 600_000)})
			}
			if others > 0 {
				require.NoError(b, b.rdb.ZAdd(b.Context(), b.names.Index, members...).Err())
			}
			b.write(whole)
			reply := b.write(func(*entry.Report) {})
			every, err := strconv.ParseInt(b.fields()["every"], 10, 64)
			require.NoError(b, err)
			require.Equal(b, registry.Interval(reply.Entries).Milliseconds(), every, "what the client does with the answer")
		}
	})
}

// An extra must not push a server over its limit.
func TestAServerThatIsOutOfMemoryRefusesAReportAndKeepsWhatItHas(t *testing.T) {
	srv := redistest.Process(t)
	b := &bench{t, srv, srv.Client(t), entry.Names{Index: "{b}i", Entry: "{b}e", UUID: "u"}}
	b.write(whole)
	dead := redis.Z{Member: "dead", Score: float64(b.now() - 1)} // which a report would remove: that frees memory, so it is never refused
	require.NoError(t, b.rdb.ZAdd(t.Context(), b.names.Index, dead).Err())
	before := b.fields()
	require.NoError(t, b.rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
	for _, anew := range []bool{true, false} {
		_, err := statetest.Send(t.Context(), b.rdb, entry.Write(entry.Report{Names: b.names, TTL: time.Hour, Whole: anew, Things: things}))
		require.ErrorContains(t, err, "OOM")
		require.Equal(t, before, b.fields())
		require.EqualValues(t, 2, b.rdb.ZCard(t.Context(), b.names.Index).Val())
	}
	_, err := statetest.Send(t.Context(), b.rdb, entry.Remove(b.names))
	require.NoError(t, err)
}

func TestEntriesThatHaveEndedLeaveTheIndex(t *testing.T) {
	each(t, func(b *bench) {
		now := float64(b.now())
		require.NoError(b, b.rdb.ZAdd(b.Context(), b.names.Index, redis.Z{Member: "dead", Score: now - 1}, redis.Z{Member: "lives", Score: now + 60_000}).Err())
		require.Equal(b, entry.Reply{Written: true, Entries: 2}, b.write(whole))
		members, err := b.rdb.ZRange(b.Context(), b.names.Index, 0, -1).Result()
		require.NoError(b, err)
		require.ElementsMatch(b, []string{"lives", "u"}, members)
	})
}

func TestTheIndexOutlivesTheLongestOfItsEntries(t *testing.T) {
	each(t, func(b *bench) {
		b.write(func(r *entry.Report) { r.Whole, r.About, r.TTL = true, `{"v":1}`, time.Hour })
		b.write(func(r *entry.Report) {
			r.Whole, r.About, r.Names = true, `{"v":1}`, entry.Names{Index: b.names.Index, Entry: b.names.Entry + "2", Asked: b.names.Asked + "2", UUID: "u2"}
		})
		ttl, err := b.rdb.PTTL(b.Context(), b.names.Index).Result()
		require.NoError(b, err)
		require.Greater(b, ttl, 50*time.Minute)
	})
}

func TestRemoveLeavesNothing(t *testing.T) {
	each(t, func(b *bench) {
		b.write(whole)
		for _, was := range []bool{true, false} {
			there, err := statetest.Send(b.Context(), b.rdb, entry.Remove(b.names))
			require.NoError(b, err)
			require.Equal(b, was, there)
			require.Empty(b, b.srv.Keys(b))
		}
	})
}

func TestReadAnswersWhatAnEntrySays(t *testing.T) {
	each(t, func(b *bench) {
		b.write(whole)
		fields := b.fields()
		for field, want := range map[string]entry.Look{
			things[0].Field(): {About: fields["about"], Seen: fields["seen"], Thing: fields[things[0].Field()]},
			"t:lock:other":    {About: fields["about"], Seen: fields["seen"]},
		} {
			before := b.now()
			look, err := statetest.Send(b.Context(), b.rdb, entry.Read(b.names.Entry, field))
			require.NoError(b, err)
			require.LessOrEqual(b, before, look.Now)
			require.LessOrEqual(b, look.Now, b.now())
			want.Now = look.Now
			require.Equal(b, want, look)
		}
		require.Equal(b, fields, b.fields())
		look, err := statetest.Send(b.Context(), b.rdb, entry.Read(b.names.Entry+"2", things[0].Field()))
		require.NoError(b, err)
		require.Equal(b, entry.Look{Now: look.Now}, look)
	})
}

func TestAReportTouchesOnlyKeysThatItDeclares(t *testing.T) {
	srv := redistest.Watched(t)
	b := &bench{t, srv, srv.Client(t), entry.Names{Index: "{b}i", Entry: "{b}e", Asked: "{b}a", Watched: "{b}w", UUID: "u"}}
	b.write(whole)
	b.write(func(r *entry.Report) { r.Removed = []string{things[0].Field()} })
	_, err := statetest.Send(b.Context(), b.rdb, entry.Read(b.names.Entry, things[0].Field()))
	require.NoError(t, err)
	_, err = statetest.Send(b.Context(), b.rdb, entry.Remove(b.names))
	require.NoError(t, err)
}

// Ten thousand holds are a program's usual many. Each has one owner and a key like other programs'.
func TestAHoldTakesAtMost150BytesOfTheServerBesideItsName(t *testing.T) {
	const n = 10_000
	srv := redistest.Process(t)
	b := &bench{t, srv, srv.Client(t), entry.Names{Index: "{b}i", Entry: "{b}e", Asked: "{b}a", Watched: "{b}w", UUID: "u"}}
	name := func(i int) registry.Thing {
		return registry.Thing{Kind: "fenced_lock", Key: fmt.Sprintf("orders:%036d", i)}
	}
	for first := 0; first < n; first += 500 {
		b.write(func(r *entry.Report) {
			if r.Whole = first == 0; r.Whole {
				r.About = `{"v":1}`
			}
			for i := range 500 {
				thing := name(first + i)
				thing.Holds, thing.HeldSince, thing.Waits, thing.Waited = 1, entry.Ago(time.Minute), 1000, time.Hour.Milliseconds()
				thing.Owners = []registry.Owner{{ID: strconv.Itoa(10_000_000 + i), Since: entry.Ago(time.Minute)}}
				r.Things = append(r.Things, thing)
			}
		})
	}
	bytes, err := b.rdb.Do(context.Background(), "memory", "usage", b.names.Entry, "samples", 0).Int64()
	require.NoError(t, err)
	each := float64(bytes)/n - float64(len(name(0).Field()))
	t.Logf("%.0f bytes for each of %d holds, beside a name of %d", each, n, len(name(0).Field()))
	require.LessOrEqual(t, each, 150.0)
}
