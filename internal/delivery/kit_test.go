package delivery_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/redlatch/redlatch/internal/delivery"
	"github.com/redlatch/redlatch/internal/dispatch"
	"github.com/redlatch/redlatch/internal/scripts"
	"github.com/redlatch/redlatch/internal/scripts/lane"
)

// What a server can answer.
var (
	noScript = redis.ErrNoScript
	notYet   = reply("LOADING Redis is loading the dataset in memory")
	moved    = reply("MOVED 3999 127.0.0.1:6381")
	hopeless = reply("NOPERM this user has no permissions to run the 'evalsha' command")
	unknown  = error(os.ErrDeadlineExceeded)
)

// A reply is an error of the server's own.
type reply string

func (r reply) Error() string { return string(r) }
func (reply) RedisError()     {}

// A step is what becomes of one send.
type step struct {
	value int64
	err   error
	took  time.Duration
	do    func() // while it is under way
}

// A play is a client that does what it says, step by step; the last step is repeated.
type play struct {
	steps []step
	sends []time.Time
	names []string // the commands that were sent
	route []string // how each found its server
	keys  []any    // how many each had
	loads int      // of the topology
}

func newPlay(steps ...step) *play { return &play{steps: steps} }

func (p *play) perform(route string, cmd redis.Cmder) error {
	p.sends = append(p.sends, time.Now())
	p.names = append(p.names, cmd.Name())
	p.route = append(p.route, route)
	p.keys = append(p.keys, cmd.Args()[2])
	s := p.steps[min(len(p.sends), len(p.steps))-1]
	time.Sleep(s.took)
	if s.do != nil {
		s.do()
	}
	if s.err != nil {
		cmd.SetErr(s.err)
		return s.err
	}
	cmd.(interface{ SetVal(int64) }).SetVal(s.value)
	return nil
}

func (p *play) Process(_ context.Context, cmd redis.Cmder) error { return p.perform("client", cmd) }
func (p *play) Pipeline() redis.Pipeliner                        { return &pipeline{play: p} }

// A pipeline performs its first command; a WAIT behind it is acknowledged by two.
type pipeline struct {
	redis.Pipeliner
	play *play
	cmds []redis.Cmder
}

func (p *pipeline) Process(_ context.Context, cmd redis.Cmder) error {
	p.cmds = append(p.cmds, cmd)
	return nil
}

func (p *pipeline) Exec(context.Context) ([]redis.Cmder, error) {
	err := p.play.perform("pipeline", p.cmds[0])
	for _, cmd := range p.cmds[1:] {
		cmd.(*redis.IntCmd).SetVal(2)
	}
	return p.cmds, err
}

// A cluster cannot find a master, so that only Follow gets through.
type cluster struct{ play *play }

func (c cluster) MasterForKey(context.Context, string) (*redis.Client, error) { return nil, moved }
func (c cluster) ReloadState(context.Context)                                 { c.play.loads++ }

func (p *play) dispatcher() *dispatch.Dispatcher {
	return dispatch.New(p, nil, func() time.Duration { return 0 })
}

// echo answers the server's number; negative ones it does not understand.
func echo() scripts.Command[int64] {
	return scripts.Integer(lane.Fence("k", lane.Call{Key: "l", Seq: 1}).Script(), []string{"key"}, nil,
		func(r scripts.Reply) (int64, error) {
			if r.Int < 0 {
				return 0, errors.New("answered nonsense")
			}
			return r.Int, nil
		})
}

func failure(t *testing.T, err error) *delivery.Failure {
	t.Helper()
	require.Error(t, err)
	require.IsType(t, (*delivery.Failure)(nil), err)
	return err.(*delivery.Failure)
}
