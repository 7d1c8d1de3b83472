package proxy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/redlatch/redlatch/internal/test/faultproxy"
	"github.com/redlatch/redlatch/internal/test/proxy"
)

var incr = faultproxy.Named("INCR")

func TestWithoutRulesEverythingPasses(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		cmds, err := r.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for i := range 300 {
				pipe.Incr(t.Context(), "n")
				pipe.HSet(t.Context(), "h", fmt.Sprint(i), i, "", "empty field, \r\n in the value")
				pipe.HGetAll(t.Context(), "h")
				pipe.Get(t.Context(), "absent")
				pipe.Eval(t.Context(), "return {1, {2, 'x'}, false, redis.status_reply('S')}", nil)
			}
			return nil
		})
		if err != nil && err != redis.Nil {
			t.Fatal(err)
		}
		equal(t, int64(300), cmds[1495].(*redis.IntCmd).Val())
		equal(t, 301, len(cmds[1497].(*redis.MapStringStringCmd).Val()))
		equal(t, error(redis.Nil), cmds[1498].Err())
		equal(t, []any{int64(1), []any{int64(2), "x"}, nil, "S"}, cmds[1499].(*redis.Cmd).Val().([]any))
		equal(t, 300, r.proxy.Seen("incr"))
		equal(t, 300, r.proxy.Executed("INCR"))
	})
}

func TestDropReplyExecutesAndLeavesTheConnectionOpen(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(incr, 1, faultproxy.DropReply)
		client := r.impatient(t)
		isTimeout(t, client.Incr(t.Context(), "n").Err())
		equal(t, 1, rule.Executed())
		equal(t, "1", r.value(t, "n"))
		equal(t, int64(2), client.Incr(t.Context(), "n").Val()) // the rule is used up
		equal(t, 1, rule.Hits())
	})
}

func TestDropReplyInAPipelineLosesThatReplyAndAllBehindIt(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(func(c faultproxy.Command) bool { return c.Name == "INCR" && c.Args[0] == "b" }, 1, faultproxy.DropReply)
		cmds, err := r.impatient(t).Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for _, key := range []string{"a", "b", "c"} {
				pipe.Incr(t.Context(), key)
			}
			return nil
		})
		isTimeout(t, err)
		// go-redis gives all of them the error, but the values tell what it has read.
		equal(t, []int64{1, 0, 0}, []int64{read(cmds[0]), read(cmds[1]), read(cmds[2])})
		for _, key := range []string{"a", "b", "c"} {
			equal(t, "1", r.value(t, key))
		}
	})
}

func read(cmd redis.Cmder) int64 { return cmd.(*redis.IntCmd).Val() }

func TestHalfReplyExecutesAndStallsInTheMiddle(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(incr, 1, faultproxy.HalfReply)
		conn, err := net.Dial("tcp", r.proxy.Addr())
		ok(t, err)
		defer conn.Close()
		const incr, echo = "*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n", "*2\r\n$4\r\nECHO\r\n$1\r\nx\r\n"
		_, err = conn.Write([]byte(incr + echo))
		ok(t, err)
		eventually(t, "both are executed", func() bool { return r.proxy.Executed("ECHO") == 1 })
		equal(t, "1", r.value(t, "n"))
		ok(t, conn.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		got, err := io.ReadAll(conn)
		isTimeout(t, err)
		equal(t, ":1", string(got)) // of ":1\r\n", and nothing of the next reply
	})
}

func TestSplitReplyIsReadAllTheSame(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(faultproxy.Named("ECHO"), 0, faultproxy.SplitReply)
		for range 3 {
			equal(t, "a reply of some length", r.client.Echo(t.Context(), "a reply of some length").Val())
		}
	})
}

func TestCloseAfterExecutesAndEndsTheConnection(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(incr, 1, faultproxy.CloseAfter)
		isEOF(t, r.client.Incr(t.Context(), "n").Err())
		equal(t, "1", r.value(t, "n"))
		equal(t, int64(2), r.client.Incr(t.Context(), "n").Val())
	})
}

func TestResetAfterExecutesAndResetsTheConnection(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(incr, 1, faultproxy.ResetAfter)
		// By hand, for in RESP3 go-redis swallows the first error of a read and reports EOF.
		conn, err := net.Dial("tcp", r.proxy.Addr())
		ok(t, err)
		defer conn.Close()
		_, err = conn.Write([]byte("*2\r\n$4\r\nINCR\r\n$1\r\nn\r\n"))
		ok(t, err)
		_, err = conn.Read(make([]byte, 10))
		isReset(t, err)
		equal(t, "1", r.value(t, "n"))
		equal(t, int64(2), r.client.Incr(t.Context(), "n").Val())
	})
}

func TestCloseBeforeDeliversEarlierRepliesAndExecutesNothingElse(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(faultproxy.Named("DECR"), 1, faultproxy.CloseBefore)
		cmds, err := r.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			pipe.Incr(t.Context(), "n")
			pipe.Decr(t.Context(), "n")
			pipe.Incr(t.Context(), "n")
			return nil
		})
		isEOF(t, err)
		equal(t, []int64{1, 0, 0}, []int64{read(cmds[0]), read(cmds[1]), read(cmds[2])})
		equal(t, "1", r.value(t, "n"))
		equal(t, 1, rule.Hits())
		equal(t, 0, rule.Executed())
	})
}

func TestDropRequestExecutesNothingAndLeavesTheConnectionOpen(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(incr, 1, faultproxy.DropRequest)
		client := r.impatient(t)
		isTimeout(t, client.Incr(t.Context(), "n").Err())
		equal(t, "", r.value(t, "n"))
		equal(t, int64(1), client.Incr(t.Context(), "n").Val())
		equal(t, 2, r.proxy.Seen("INCR"))
		equal(t, 1, r.proxy.Executed("INCR"))
	})
}

func TestDropRequestInAPipelineLosesThatRequestAndAllBehindIt(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		r.proxy.On(func(c faultproxy.Command) bool { return c.Name == "INCR" && c.Args[0] == "b" }, 1, faultproxy.DropRequest)
		cmds, err := r.impatient(t).Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for _, key := range []string{"a", "b", "c"} {
				pipe.Incr(t.Context(), key)
			}
			return nil
		})
		isTimeout(t, err)
		equal(t, []int64{1, 0, 0}, []int64{read(cmds[0]), read(cmds[1]), read(cmds[2])})
		equal(t, []string{"1", "", ""}, []string{r.value(t, "a"), r.value(t, "b"), r.value(t, "c")})
	})
}

func TestDelayedRequestIsExecutedAfterTheClientGaveUp(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(incr, 1, faultproxy.Delay(3*time.Second))
		began := time.Now()
		isTimeout(t, r.impatient(t).Incr(t.Context(), "n").Err())
		rule.AwaitExecuted(t, 1)
		if took := time.Since(began); took < 3*time.Second {
			t.Fatalf("executed after %v", took)
		}
		equal(t, "1", r.value(t, "n"))
	})
}

func TestHeldRequestBecomesAGhostWhenReleased(t *testing.T) {
	for _, way := range []string{"timeout", "cut", "close"} {
		t.Run(way, func(t *testing.T) {
			each(t, func(t *testing.T, r rig) {
				rule := r.proxy.On(incr, 1, faultproxy.Hold)
				client := r.impatient(t)
				if way != "timeout" {
					client = r.client
				}
				failed := make(chan error, 1)
				go func() { failed <- client.Incr(context.Background(), "n").Err() }()
				rule.AwaitHits(t, 1)
				switch way {
				case "cut":
					r.proxy.CutAll()
				case "close":
					ok(t, client.Close())
				}
				if err := <-failed; err == nil {
					t.Fatal("a held request was answered")
				}
				eventually(t, "the client has left", func() bool { return r.proxy.Conns() == 0 })

				// Somebody else comes in between; the ghost still runs afterwards.
				ok(t, r.direct.Set(t.Context(), "n", 10, 0).Err())
				equal(t, 0, rule.Executed())
				rule.Release()
				rule.AwaitExecuted(t, 1)
				equal(t, "11", r.value(t, "n"))
			})
		})
	}
}

func TestHeldReplyArrivesWhenReleased(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(incr, 1, faultproxy.HoldReply)
		got := make(chan int64, 1)
		go func() { got <- r.client.Incr(context.Background(), "n").Val() }()
		rule.AwaitExecuted(t, 1)
		equal(t, "1", r.value(t, "n"))
		select {
		case <-got:
			t.Fatal("the reply was not held")
		default:
		}
		ok(t, r.client.Ping(t.Context()).Err()) // other connections are not held up
		rule.Release()
		equal(t, int64(1), <-got)
	})
}

func TestRulesApplyInTheirOrderAndAsOftenAsTheySay(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		first := r.proxy.On(incr, 2, faultproxy.CloseAfter)
		second := r.proxy.On(incr, 0, faultproxy.SplitReply)
		for range 2 {
			isEOF(t, r.client.Incr(t.Context(), "n").Err())
		}
		for range 3 {
			ok(t, r.client.Incr(t.Context(), "n").Err())
		}
		equal(t, 2, first.Hits())
		equal(t, 3, second.Hits())
		second.Remove()
		ok(t, r.client.Incr(t.Context(), "n").Err())
		equal(t, 3, second.Hits())
	})
}

func TestLoseReplyIsForACommandThatWasExecuted(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(faultproxy.OnKey("n"), 1, proxy.LoseReply)
		script := redis.NewScript("return redis.call('incr', KEYS[1])")
		isEOF(t, script.Run(t.Context(), r.client, []string{"n"}).Err()) // EVALSHA is not known, EVAL is lost
		equal(t, 1, rule.Executed())
		equal(t, 1, rule.Hits())
		equal(t, "1", r.value(t, "n"))
		equal(t, int64(2), script.Run(t.Context(), r.client, []string{"n"}).Val().(int64))
	})
}

func TestRefuseAnswersInPlaceOfTheServerAndInOrder(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(faultproxy.Named("DECR"), 0, proxy.Refuse("OOM no memory"))
		cmds, _ := r.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 100 {
				pipe.Incr(t.Context(), "n")
				pipe.Decr(t.Context(), "n")
				pipe.Decr(t.Context(), "n")
			}
			return nil
		})
		for i := range 100 {
			equal(t, int64(i+1), cmds[3*i].(*redis.IntCmd).Val())
			for _, refused := range cmds[3*i+1 : 3*i+3] {
				equal(t, "OOM no memory", fmt.Sprint(refused.Err()))
			}
		}
		equal(t, "100", r.value(t, "n"))
		equal(t, 0, rule.Executed())
		rule.Remove()
		equal(t, int64(99), r.client.Decr(t.Context(), "n").Val())
	})
}

func TestReplaceExecutesAndAnswersInOtherWords(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		rule := r.proxy.On(incr, 1, proxy.Replace("upstream failure"))
		cmds, err := r.client.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range 3 {
				pipe.Incr(t.Context(), "n")
			}
			return nil
		})
		equal(t, "upstream failure", err.Error())
		equal(t, "upstream failure", cmds[0].Err().Error())
		equal(t, int64(3), cmds[2].(*redis.IntCmd).Val())
		equal(t, 1, rule.Executed())
	})
}
