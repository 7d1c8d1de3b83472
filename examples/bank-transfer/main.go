// Bank-transfer moves money between accounts, each behind a lock of its own, without deadlock and without loss.
//
//	go run ./examples/bank-transfer
//
// A transfer needs both accounts at once. Taken one after the other, two transfers in opposite directions would wait
// for each other; a multi-lock takes all or none. The locks keep others out between reading and writing. They do not make
// several writes one: a process can be killed between two of them, so both balances are written by one command.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/redlatch/redlatch"
	"github.com/redlatch/redlatch/examples/internal/connect"
	"github.com/redlatch/redlatch/examples/internal/notice"
	"github.com/redlatch/redlatch/multilock"
	"github.com/redlatch/redlatch/rlock"
)

const (
	bank      = "example:accounts" // a hash: account, balance
	accounts  = 4
	opening   = 100
	processes = 4
	transfers = 25 // by each process
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	server := connect.Open()
	defer server.Close()
	rdb := server.Client()
	if err := open(ctx, rdb); err != nil {
		return err
	}

	group, groupCtx := errgroup.WithContext(ctx)
	for process := range processes {
		rdb := server.Client()
		group.Go(func() error {
			for n := range transfers {
				from := rand.N(accounts)
				to := (from + 1 + rand.N(accounts-1)) % accounts
				if err := transfer(groupCtx, rdb, process, from, to, rand.N(50)); err != nil {
					return err
				}
				if done := n + 1; done%5 == 0 {
					fmt.Printf("process %d has made %d transfers\n", process, done)
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}

	balances, err := rdb.HGetAll(ctx, bank).Result() // one command, so it sees no half of a transfer
	if err != nil {
		return err
	}
	total := 0
	for account := range accounts {
		balance, err := strconv.Atoi(balances[strconv.Itoa(account)])
		if err != nil {
			return fmt.Errorf("account %d: %w", account, err)
		}
		fmt.Printf("account %d has %d\n", account, balance)
		total += balance
	}
	if total != accounts*opening {
		return fmt.Errorf("money was made or lost: %d instead of %d", total, accounts*opening)
	}
	fmt.Printf("%d transfers, and the total is %d as before\n", processes*transfers, total)
	return nil
}

// open opens the accounts that do not exist: none of them after a run that was killed, for all are opened in one
// transaction.
func open(ctx context.Context, rdb *redis.Client) error {
	_, err := rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		for account := range accounts {
			tx.HSetNX(ctx, bank, strconv.Itoa(account), opening)
		}
		tx.Expire(ctx, bank, time.Hour) // so that the example leaves nothing behind
		return nil
	})
	return err
}

// transfer reads both balances and writes both. Only the locks make that safe.
func transfer(ctx context.Context, rdb *redis.Client, process, from, to, amount int) error {
	payer, payee := lock(rdb, from), lock(rdb, to)
	waited := notice.Lock(fmt.Sprintf("process %d", process), payer, payee)
	defer waited()
	return multilock.New([]redlatch.Locker{payer, payee}).Do(ctx, func(ctx context.Context) error {
		waited()
		has, err := rdb.HGet(ctx, bank, strconv.Itoa(from)).Int()
		if err != nil || has < amount {
			return err // without enough money nothing is transferred
		}
		had, err := rdb.HGet(ctx, bank, strconv.Itoa(to)).Int()
		if err != nil {
			return err
		}
		return rdb.HSet(ctx, bank, strconv.Itoa(from), has-amount, strconv.Itoa(to), had+amount).Err()
	})
}

// lock is that of an account. Those of a process that was killed are free again after three seconds.
func lock(rdb *redis.Client, account int) *rlock.Lock {
	return rlock.New(rdb, fmt.Sprintf("example:account:%d", account), redlatch.WithWatchdogTimeout(3*time.Second))
}
