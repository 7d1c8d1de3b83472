package rwlock_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/scripts/row"
	"github.com/redlatch/redlatch/internal/scripts/rwlock"
)

// announcement is for how long outsiders are announced at least, in a test on the clock of a server.
const announcement = 30 * time.Second

// outside tells whether outsiders are announced, and has that last for as long as a test may take.
func (h *hall) outside() bool {
	h.Helper()
	till, err := h.client.ZScore(h.Context(), writers, "outsiders").Result()
	if err != nil {
		return false
	}
	now := h.client.Time(h.Context()).Val()
	require.LessOrEqual(h, time.UnixMilli(int64(till)).Sub(now), 100*time.Millisecond)
	require.LessOrEqual(h, h.client.PTTL(h.Context(), writers).Val(), 350*time.Millisecond)
	h.announce()
	return true
}

func (h *hall) announce() {
	till := float64(h.client.Time(h.Context()).Val().Add(announcement).UnixMilli())
	require.NoError(h, h.client.ZAdd(h.Context(), writers, redis.Z{Score: till, Member: "outsiders"}).Err())
	require.NoError(h, h.client.PExpire(h.Context(), writers, announcement).Err())
}

// soon has a command announce outsiders. On a busy machine that may be over before it is looked at.
func (h *hall) soon(command func()) {
	h.Helper()
	for range 20 {
		if command(); h.outside() {
			return
		}
	}
	require.Fail(h, "no outsiders are announced")
}

// stands is the answer to the head of a process.
func (h *hall) stands(who string) row.Answer {
	c := h.candidate(who)
	if c.Writes {
		return does(h, h.client, rwlock.StandWrite(key, c.ID+rwlock.WriteSuffix, lease, quiet, toQueue, c))
	}
	return does(h, h.client, rwlock.StandRead(key, c.ID, lease, toQueue, c))
}

func (h *hall) confirms(who string) rwlock.Confirmation {
	return does(h, h.client, rwlock.ConfirmRead(key, who+":1", 1, lease, toQueue, 1))
}

func TestAReaderAnnouncesOutsidersThatListen(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("r1", "r2", "w1")
		require.True(h, h.asks(h.client, "r1"))
		require.True(h, h.confirms("r1").Others, "other processes listen")
		require.False(h, h.outside(), "they are known")
		h.listens("outsider", channel)
		h.soon(func() { require.True(h, h.confirms("r1").Others) })

		for _, head := range []string{"r2", "w1"} {
			require.False(h, h.stands(head).Held)
		}
		got := h.stands("r2")
		require.True(h, got.Open)
		require.Greater(h, got.Remaining, 20*time.Millisecond, "it is not free yet")
		require.NotZero(h, got.At)
		require.False(h, does(h, h.client, rwlock.AcquireRead(key, "newcomer", lease, "")).Held)

		h.leaves("r1", "")
		require.Equal(h, int64(0), h.client.Exists(h.Context(), key).Val(), "none is told, and no head takes it")
		h.announce()
		got = h.stands("r2")
		require.True(h, got.Open)
		require.LessOrEqual(h, got.Remaining, 20*time.Millisecond, "it is free")
		h.announce()
		require.True(h, h.stands("w1").Open)
		h.announce()
		h.gone("outsider")
		require.True(h, h.asks(h.client, "r2"), "no outsider listens any more")
	})
}

func TestAReaderThatLeavesOthersBehindAnnouncesOutsidersIfItIsToldTo(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("r1", "r2")
		h.listens("outsider", channel)
		leaves := func(who string, attends bool) {
			does(h, h.client, rwlock.HandOnRead(key, who+":1", 1, toQueue, rwlock.Candidate{}, rwlock.Successor{}, attends))
		}
		for _, reader := range []string{"r1", "r2", "r3"} {
			require.True(h, h.asks(h.client, reader))
		}
		leaves("r1", false)
		require.False(h, h.outside())
		h.soon(func() {
			require.True(h, h.asks(h.client, "r2"))
			leaves("r2", true)
		})
		require.NoError(h, h.client.Del(h.Context(), writers).Err())
		leaves("r3", true)
		require.False(h, h.outside(), "the last leaves the lock free")
	})
}

func TestOutsidersAreAnnouncedWithPauses(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("r1")
		h.listens("outsider", channel)
		require.True(h, h.asks(h.client, "r1"))
		ended := func(ago time.Duration) (again bool) {
			till := float64(h.client.Time(h.Context()).Val().Add(-ago).UnixMilli())
			require.NoError(h, h.client.ZAdd(h.Context(), writers, redis.Z{Score: till, Member: "outsiders"}).Err())
			h.confirms("r1")
			return h.client.ZScore(h.Context(), writers, "outsiders").Val() != till
		}
		require.True(h, ended(251*time.Millisecond))
		paused := false
		for range 20 { // a busy machine may take longer than the pause for one try
			paused = paused || !ended(time.Millisecond)
		}
		require.True(h, paused)
		require.False(h, ended(-10*time.Second), "they are announced")
	})
}

// What a writer has announced itself is heeded by all, also by a process that would not leave the lock to
// outsiders.
func TestAnAnnouncedWriterIsSeenBehindOutsiders(t *testing.T) {
	inHall(t, func(h *hall) {
		h.there("r1")
		h.announce()
		till := float64(h.client.Time(h.Context()).Val().Add(announcement / 2).UnixMilli())
		require.NoError(h, h.client.ZAdd(h.Context(), writers, redis.Z{Score: till, Member: "session"}).Err())
		got := h.stands("r1")
		require.False(h, got.Held)
		require.False(h, got.Open)
		require.NoError(h, h.client.ZRem(h.Context(), writers, "session").Err())
		require.True(h, h.stands("r1").Held, "no outsider listens")
	})
}
