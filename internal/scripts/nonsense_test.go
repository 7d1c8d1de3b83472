package scripts_test

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/countdownlatch"
	"github.com/redlatch/redlatch/internal/scripts/entry"
	"github.com/redlatch/redlatch/internal/scripts/fairlock"
	"github.com/redlatch/redlatch/internal/scripts/fencedlock"
	"github.com/redlatch/redlatch/internal/scripts/lane"
	"github.com/redlatch/redlatch/internal/scripts/multilock"
	"github.com/redlatch/redlatch/internal/scripts/notice"
	"github.com/redlatch/redlatch/internal/scripts/permitsemaphore"
	"github.com/redlatch/redlatch/internal/scripts/rlock"
	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
	"github.com/redlatch/redlatch/internal/scripts/semaphore"
)

// A decoder reads replies as one command does. What answers may be a proxy, or a script of another version.
type decoder struct {
	script string
	read   func(reply any) (any, error) // of an int64 or a []any
}

func of[R any](c scripts.Command[R]) decoder {
	return decoder{c.Script().Name(), func(reply any) (any, error) {
		cmd := c.Cmder(context.Background(), false)
		switch cmd := cmd.(type) {
		case interface{ SetVal(int64) }:
			number, _ := reply.(int64)
			cmd.SetVal(number)
		case interface{ SetVal([]any) }:
			list, _ := reply.([]any)
			cmd.SetVal(list)
		}
		return c.Read(cmd)
	}}
}

const (
	key, owner = "k", "o"
	lease      = time.Second
)

var (
	wake = scripts.Wake{Publish: "publish", Channel: "c"}
	call = lane.Call{Key: "lanes", Lane: 1, Seq: 1}

	fields  = []string{"f", "g"}
	permits = permitsemaphore.NamesOf(key)
	latch   = countdownlatch.NamesOf(key)
	size    = lane.Size{Permits: 3}
)

// decoders are those of all scripts. Where one script is read in two ways, for one caller or several, it is there twice.
func decoders() []decoder {
	return []decoder{
		of(rlock.Acquire(key, owner, lease)), of(rlock.Recount(key, owner, 1, lease)), of(rlock.Release(key, owner, wake)),
		of(rlock.HandOver(key, owner, "p", lease)), of(rlock.Force(key, wake)), of(rlock.Inspect(key)), of(rlock.Status(key, owner)),
		of(rlock.Renew([]rlock.Renewal{{Key: key}, {Key: key}})),
		of(rlock.Enlist(key, owner, lease, []string{"row", "alive", "open", "windows"}, lease, true)), of(rlock.Pass(key, owner, wake, row.Turn{})),
		of(rlock.Pass(key, owner, wake, row.Turn{Next: "p", NextLease: lease})),
		of(rlock.AcquireAll(make([]rlock.Want, 2), make([]string, 2))), of(row.PassAll(make([]row.Given, 2), "publish")),

		of(fencedlock.Counted.Acquire(key, "t", owner, lease)), of(fencedlock.Counted.HandOver(key, "t", owner, "p", lease, 0, 64)),
		of(fencedlock.Reenter(key, "t", owner, 2, lease, 1)), of(fencedlock.Claim(fencedlock.Guarded{Seen: "g", Owner: "o"}, 1, owner)),
		of(fencedlock.Write(fencedlock.Guarded{Seen: "g", Owner: "o"}, call, 1, owner, "set", key, nil)),

		of(fairlock.Acquire(key, fairlock.Waiter{}, lease, wake, make([]fairlock.Waiter, 2), fairlock.Load{})),
		of(fairlock.Pass(key, fairlock.Waiter{}, wake, fairlock.Load{})),
		of(fairlock.Release(key, fairlock.Waiter{}, wake)), of(fairlock.Force(key, wake)), of(fairlock.Queued(key)),

		of(rwlock.AcquireRead(key, owner, lease, "")), of(rwlock.RecountRead(key, owner, 1, 1, lease)),
		of(rwlock.ReleaseRead(key, owner, 1, wake)), of(rwlock.RenewRead(make([]rwlock.Renewal, 2))),
		of(rwlock.AcquireWrite(key, owner, lease, rwlock.Announcement{})), of(rwlock.Withdraw(key, "s", wake)),
		of(rwlock.ReleaseWrite(key, owner, wake)), of(rwlock.Force(key, rwlock.Read, wake)),
		of(rwlock.Status(key, owner, rwlock.Read)), of(rwlock.Inspect(key)),
		of(rwlock.ConfirmRead(key, owner, 1, lease, wake, 1)), of(rwlock.TurnWrite(key, owner, 1, wake, "f", lease)),
		of(rwlock.TurnRead(key, "f", wake, 1, owner, lease)), of(rwlock.StandRead(key, owner, lease, wake, rwlock.Candidate{ID: owner})),
		of(rwlock.StandWrite(key, owner, lease, rwlock.Announcement{}, wake, rwlock.Candidate{ID: owner})),

		of(multilock.Acquire(key, owner, fields, lease)), of(multilock.Recount(key, owner, fields, 1, lease)),
		of(multilock.Release(key, owner, fields, wake, []string{"row"})), of(multilock.Renew(fields, make([]multilock.Renewal, 2))),
		of(multilock.Force(key, fields, wake)), of(multilock.Inspect(key, fields)),

		of(lane.Fence(key, call)), of(lane.Inspect(key)), of(entry.Write(entry.Report{})), of(entry.Remove(entry.Names{})), of(entry.Read(key, "f")),
		of(entry.Ask(entry.Names{}, owner, lease)), of(entry.Unask(entry.Names{}, owner, 1)), of(notice.Hear(key, owner)),
		of(notice.Heard(key, owner, time.UnixMilli(1))), of(notice.Close(key, owner, time.UnixMilli(1))), of(notice.Ask(key, owner, "who", "why")),
		of(notice.Leave(key, owner, "who", "why")), of(notice.Withdraw(key, owner)), of(notice.Read(make([]notice.Of, 2))),

		of(semaphore.Acquire(key, 1, call)),
		of(semaphore.Wait(key, 1, 1, wake, row.Candidate{ID: owner}, call)), of(row.Leave(key, wake, owner)),
		of(semaphore.CancelAcquire(key, 1, wake, call)), of(semaphore.Release(key, 1, wake, call)),
		of(semaphore.ReleaseIfExists(key, 1, wake, call)), of(semaphore.TrySet(key, 1, lease, wake, call)),
		of(semaphore.Keep(key, 1, owner, wake, call)), of(semaphore.Yield(key, 1, wake, call)),
		of(semaphore.AcquireSized(key, 1, 1, size, wake, row.Candidate{}, call)), of(semaphore.AddSized(key, 1, size, wake, call)),
		of(semaphore.DrainSized(key, size, wake, call)),
		of(semaphore.KeepSized(key, 1, owner, wake, call)), of(semaphore.YieldSized(key, 1, wake, call)),
		of(permitsemaphore.AcquireSized(permits, []string{"1"}, lease, size, wake, row.Candidate{}, call)),
		of(permitsemaphore.AddSized(permits, 1, size, wake, call)),
		of(semaphore.Add(key, 1, wake, call)), of(semaphore.Drain(key, call)),
		of(semaphore.Delete(key, call)), of(semaphore.Expire(key, lease, call)), of(semaphore.Persist(key, call)),

		of(permitsemaphore.Acquire(permits, []string{"1"}, lease, wake, call)),
		of(permitsemaphore.Acquire(permits, []string{"1", "2"}, lease, wake, call)),
		of(permitsemaphore.Wait(permits, []string{"1"}, lease, wake, row.Candidate{ID: owner}, call)),
		of(permitsemaphore.Swap(permits, []string{"1"}, []string{"2"}, owner, lease, wake)),
		of(permitsemaphore.GiveBack(permits, []string{"1"}, wake)), of(permitsemaphore.GiveBackOne(permits, "1", wake)),
		of(permitsemaphore.Release(permits, []string{"1"}, wake, call)),
		of(permitsemaphore.Renew([]permitsemaphore.Renewal{{IDs: []string{"1"}}, {IDs: []string{"2"}}})),
		of(permitsemaphore.UpdateLease(permits, []string{"1"}, lease, wake, call)), of(permitsemaphore.LeaseTime(permits, "1", wake)),
		of(permitsemaphore.Status(permits, wake)), of(permitsemaphore.Inspect(permits, 3)),
		of(permitsemaphore.TrySet(permits, 1, lease, wake, call)), of(permitsemaphore.Set(permits, 1, wake, call)),
		of(permitsemaphore.Add(permits, 1, wake, call)), of(permitsemaphore.Delete(permits, call)),
		of(permitsemaphore.Expire(permits, lease, call)), of(permitsemaphore.Persist(permits, call)),

		of(countdownlatch.TrySetCount(latch, 1, lease, 1, wake, call)), of(countdownlatch.CountDown(latch, 1, wake, call)),
		of(countdownlatch.Count(key)), of(countdownlatch.Await(latch, countdownlatch.Seen{})), of(countdownlatch.Delete(latch, wake, call)),
	}
}

// preludes are the Lua files that answer nothing.
var preludes = strings.Fields(`fencedlock/admit fencedlock/issue fencedlock/clocked fencedlock/own fencedlock/raise fairlock/acquire_alone fairlock/mixed
	fairlock/queue fairlock/release_alone lane/once lane/settle lane/value notice/gone multilock/values permitsemaphore/acquire_alone permitsemaphore/give_back_alone
	permitsemaphore/permits permitsemaphore/swap_alone row/announce ./clock row/give row/lone row/stand row/told row/take row/row row/wait rwlock/keep rwlock/outsiders rwlock/leave rwlock/lone rwlock/markers
	rwlock/ours rwlock/queue rwlock/readers rwlock/strangers semaphore/raise semaphore/acquire_alone semaphore/release_alone semaphore/size permitsemaphore/size countdownlatch/count_down_alone
	countdownlatch/rounds`)

func TestTheDecoderOfEveryScriptIsGivenNonsense(t *testing.T) {
	read := map[string]bool{}
	for _, d := range decoders() {
		read[d.script] = true
	}
	for _, prelude := range preludes {
		read[prelude] = true
	}
	eachFile(t, func(t *testing.T, path, _ string) {
		folder, file := filepath.Split(path)
		require.Contains(t, read, filepath.Base(folder)+"/"+strings.TrimSuffix(file, ".lua"),
			"add its command to decoders, or the file to preludes")
	})
}

// nonsense are replies that no script of ours sends: negative and huge numbers, other types, too few elements and too many.
func nonsense() (replies []any) {
	numbers := []int64{math.MinInt64, math.MinInt64 / 1_000_000, -1_000_000, -7, -5, -2, 3, 5, 1 << 33, 1 << 43, math.MaxInt64 - 1, math.MaxInt64}
	for _, n := range numbers {
		replies = append(replies, n)
	}
	elements := []any{nil, "", "x", "1.5", "99999999999999999999", 2.5, true, []any{int64(1)}, fmt.Errorf("an error")}
	for _, n := range numbers {
		elements = append(elements, n, fmt.Sprint(n))
	}
	for length := range 9 {
		for _, ordinary := range []any{int64(0), int64(1), "1"} {
			for at := range length {
				for _, element := range elements {
					list := make([]any, length)
					for i := range list {
						list[i] = ordinary
					}
					list[at] = element
					replies = append(replies, list)
				}
			}
		}
	}
	return append(replies, nil, []any(nil), make([]any, 1000))
}

func TestWhateverIsAnsweredIsAnErrorOrCanBeReckonedWith(t *testing.T) {
	replies := nonsense()
	for _, d := range decoders() {
		t.Run(d.script, func(t *testing.T) {
			for _, reply := range replies {
				value, err := d.read(reply)
				if err != nil {
					require.Contains(t, err.Error(), "script "+d.script)
					continue
				}
				requireSane(t, reply, "", reflect.ValueOf(value))
			}
		})
	}
}

// requireSane looks at every number of a value that is added to, indexes something or is slept for.
func requireSane(t *testing.T, reply any, name string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			requireSane(t, reply, v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		require.LessOrEqual(t, v.Len(), 1000)
		for i := range v.Len() {
			requireSane(t, reply, name, v.Index(i))
		}
	case reflect.Int:
		require.True(t, v.Int() >= -1 && v.Int() <= math.MaxInt32, "%v of %#v: %v", name, reply, v)
	case reflect.Int64:
		switch {
		case v.Type() == reflect.TypeFor[time.Duration]():
			require.True(t, v.Int() >= -int64(time.Millisecond) && v.Int() <= 1<<62, "%v of %#v: %v", name, reply, v)
		case name == "At", name == "Now":
			require.True(t, v.Int() >= 0 && v.Int() <= math.MaxInt64/int64(time.Millisecond), "%v of %#v: %v", name, reply, v)
		}
	}
}

func TestNonsenseIsRefused(t *testing.T) {
	list := func(elements ...any) []any { return elements }
	for script, replies := range map[string][]any{
		"rlock/acquire":           {int64(-7), int64(math.MinInt64)},
		"row/handover":            {list(int64(2), "1", int64(1)), list(int64(1), "1")},
		"rlock/recount":           {int64(2)},
		"rlock/renew":             {list(int64(1)), list(int64(1), int64(2)), list(int64(1), nil), list(int64(1), int64(1), int64(1))},
		"rlock/inspect":           {list(), list(nil), list(int64(-3)), list(int64(1), "o", "x"), list(int64(1), int64(1))},
		"row/enlist":              {list(int64(3), int64(1), int64(1)), list(int64(0), int64(-7), int64(1)), list(int64(0), int64(1), int64(-1)), list(int64(0))},
		"row/pass":                {int64(-1), int64(7), int64(math.MaxInt64)},
		"row/close":               {list(int64(7), int64(0), "0", int64(0)), list(int64(5), int64(-1), "0", int64(0)), list(int64(1), int64(0), "0")},
		"fencedlock/acquire":      {list(int64(2), int64(1)), list(int64(0), int64(-7)), list(int64(1), "x"), list(int64(1))},
		"fairlock/acquire":        {list(int64(0), int64(1), int64(-2), int64(1), int64(1)), list(int64(0), int64(-7), int64(1), int64(1), int64(1)), list(int64(0), int64(1), int64(1), int64(1)), list(int64(0), int64(1), int64(1), int64(1), int64(1<<40)), list(int64(7), int64(1), int64(1), int64(1), int64(1))},
		"rwlock/acquire_read":     {int64(-7)},
		"rwlock/acquire_write":    {int64(-7)},
		"rwlock/renew_read":       {list(int64(1)), list(int64(1), int64(-1))},
		"rwlock/inspect":          {list(int64(1), "f", "1", int64(-9)), list(int64(1), "f", "1")},
		"multilock/acquire":       {int64(-7)},
		"multilock/inspect":       {list("o", int64(-7), "1", "o", int64(7), "1"), list("o", int64(7), "1")},
		"semaphore/acquire":       {int64(-1), int64(6), int64(1 + 8*1001), int64(math.MaxInt64)},
		"permitsemaphore/acquire": {int64(-3), int64(7)},
		"permitsemaphore/renew":   {list(int64(1)), list(int64(1), int64(7))},
		"permitsemaphore/inspect": {list("1", "1", int64(-3)), list("1", "1", int64(1), "id"), list("1", "1")},
		"countdownlatch/await":    {list("1", int64(1), int64(-1), list()), list("x", int64(1), int64(1), list()), list("1", int64(-3), int64(1), list()), list("1")},
		"lane/inspect":            {list("x", int64(1)), list("1", int64(-3)), list("1")},
	} {
		refused := map[int]bool{}
		for _, d := range decoders() {
			for i, reply := range replies {
				if d.script == script {
					_, err := d.read(reply)
					refused[i] = refused[i] || err != nil
				}
			}
		}
		for i, reply := range replies {
			require.True(t, refused[i], "%s accepts %#v", script, reply)
		}
	}
}

func TestAMessageWithNonsenseIsNone(t *testing.T) {
	for _, message := range []string{
		"owner -1 1 1", "owner 9223372036854775807 1 1", "owner 1 1 -7", "owner 1 1", "owner 1 1 1 1", "owner x 1 1", "",
	} {
		_, ok := row.Read(message)
		require.False(t, ok, message)
	}
	m, ok := row.Read("owner 1 2 9223372036854775807")
	require.True(t, ok)
	require.Positive(t, m.Shut)
}
