package session_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/raise"
	"github.com/redlatch/redlatch/internal/session"
	"github.com/redlatch/redlatch/internal/settings"
	"github.com/redlatch/redlatch/internal/test/redistest"
	"github.com/redlatch/redlatch/internal/test/servers"
)

// A probed client counts what it is asked, and answers with err.
type probed struct {
	*redis.Client
	mu    sync.Mutex
	err   error
	asked int
	hang  chan struct{}
}

func (p *probed) Process(_ context.Context, cmd redis.Cmder) error {
	p.mu.Lock()
	p.asked++
	err, hang := p.err, p.hang
	p.mu.Unlock()
	if hang != nil {
		<-hang
	}
	return err
}

// An explosive client panics at what it is asked.
type explosive struct{ *redis.Client }

func (explosive) Process(context.Context, redis.Cmder) error { panic("a hook of the client") }

// The question is asked on a goroutine of its own, for all who want to know.
func TestAHookThatPanicsAtTheQuestionForThePublishCommandReachesTheCaller(t *testing.T) {
	client := &explosive{redistest.Mini(t).Client(t)}
	require.NoError(t, session.Configure(client, "here", session.Cluster{}))
	s := session.Of(client, &settings.Settings{})
	defer func() {
		raised, _ := recover().(*raise.Panic)
		require.NotNil(t, raised)
		require.Equal(t, "a hook of the client", raised.Value)
		var log bytes.Buffer
		_, err := s.Publish(raise.Background(context.Background(), slog.New(slog.NewTextHandler(&log, nil))))
		require.Error(t, err, "where no caller could raise it")
		require.Contains(t, log.String(), "level=ERROR")
	}()
	_, _ = s.Publish(context.Background())
}

type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

func TestThePublishCommandIsAskedForOnlyWhereItIsNotKnown(t *testing.T) {
	for name, test := range map[string]struct {
		said  []session.Setting
		err   error
		want  string
		asked int
	}{
		"one server":                    {want: session.Classic},
		"one server, sharding on":       {said: []session.Setting{session.Sharding(true)}, want: session.Classic},
		"cluster, sharding on":          {said: []session.Setting{session.Cluster{}, session.Sharding(true)}, want: session.Sharded},
		"cluster, sharding off":         {said: []session.Setting{session.Sharding(false), session.Cluster{}}, want: session.Classic},
		"cluster with sharded channels": {said: []session.Setting{session.Cluster{}}, want: session.Sharded, asked: 1},
		"cluster before 7.0":            {said: []session.Setting{session.Cluster{}}, err: reply("ERR Unknown subcommand or wrong number of arguments"), want: session.Classic, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			client := &probed{Client: idle(t), err: test.err}
			require.NoError(t, session.Configure(client, "here", test.said...))
			s := session.Of(client, quick())
			for range 3 {
				got, err := s.Publish(t.Context())
				require.NoError(t, err)
				require.Equal(t, test.want, got)
			}
			require.Equal(t, test.asked, client.asked, "asked once at most")
		})
	}
}

func TestAClusterThatCannotBeAskedIsAskedAgain(t *testing.T) {
	client := &probed{Client: idle(t), err: reply("LOADING Redis is loading the dataset in memory")}
	require.NoError(t, session.Configure(client, "here", session.Cluster{}))
	s := session.Of(client, quick())
	for _, err := range []error{client.err, errors.New("a read timed out"), redis.ErrClosed} {
		client.err = err
		_, got := s.Publish(t.Context())
		require.ErrorIs(t, got, err)
	}
	client.err, client.hang = nil, make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Publish(ctx)
	require.ErrorIs(t, err, context.Canceled, "a server that hangs does not hold the caller up")
	close(client.hang)
	got, err := s.Publish(t.Context())
	require.NoError(t, err)
	require.Equal(t, session.Sharded, got)
}

func TestAClusterThatCannotBeAskedIsAskedForAsLongAsTheOutageMayLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &probed{Client: idle(t), err: reply("CLUSTERDOWN The cluster is down")}
		require.NoError(t, session.Configure(client, "here", session.Cluster{}))
		s := session.Of(client, quick())
		begin := time.Now()
		_, err := s.PublishFor(t.Context(), 5*time.Second)
		require.ErrorIs(t, err, client.err)
		require.InDelta(t, 5, time.Since(begin).Seconds(), 1)

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.PublishFor(ctx, time.Minute)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "CLUSTERDOWN", "busy and broken are told apart")

		time.AfterFunc(3*time.Second, func() {
			client.mu.Lock()
			defer client.mu.Unlock()
			client.err = nil
		})
		client.mu.Lock()
		client.hang = make(chan struct{})
		client.mu.Unlock()
		begin = time.Now()
		_, err = s.PublishFor(t.Context(), 2*time.Second)
		require.ErrorContains(t, err, "2s")
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller's context has not ended")
		require.Equal(t, 2*time.Second, time.Since(begin), "a server that hangs does not hold the caller up")
		hung := client.hang
		defer close(hung)
		client.mu.Lock()
		client.hang = nil // another server
		client.mu.Unlock()

		got, err := s.PublishWithin(ctx, 5*time.Second)
		require.NoError(t, err, "although ctx has ended")
		require.Equal(t, session.Sharded, got)
	})
}

func TestARealClusterPublishesShardedIfItCan(t *testing.T) {
	cluster := redistest.Cluster(t, 3, 0)
	want := session.Classic
	if cluster.Node(0).Has(t, servers.ShardedChannels) {
		want = session.Sharded
	}
	s := session.Of(cluster.Client(t), quick())
	got, err := s.Publish(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, got)
}
