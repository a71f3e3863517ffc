# What a report spends (section 5.5), from the integers of a document that was opened. Probabilities are
# pairs of whole numbers, numerator and denominator.
use v5.28;
use strict;
use warnings;
no warnings qw(portable surrogate nonchar non_unicode recursion);
use POSIX ();

use constant INF => 9**9**9;

sub ln { my $digits = "$_[0]"; return log("0." . substr $digits, 0, 18) + length($digits) * log 10 }

sub L {
    my ($above, $below) = map { big($_) } @_;
    return -L($below, $above) if $above < $below;
    return $above->is_zero ? 0 : INF if $below->is_zero;
    return ln($above) - ln($below) if $above >= 2 * $below;
    my $part = ($above - $below) * big(10)->bpow(40) / $below;
    return POSIX::log1p("${part}e-40");
}

sub largest { my $most = 0; $_ > $most and $most = $_ for @_; return $most }
sub least { return $_[0] < $_[1] ? $_[0] : $_[1] }

# Of columns, each with the probabilities of a report.
sub of_table {
    my @each = map {
        my ($top, @rest) = @$_;
        my $low = $top;
        for (@rest) {
            $top = $_ if $_->[0] * $top->[1] > $top->[0] * $_->[1];
            $low = $_ if $_->[0] * $low->[1] < $low->[0] * $_->[1];
        }
        L($top->[0] * $low->[1], $low->[0] * $top->[1])
    } @_;
    return largest(@each);
}

# The probabilities of a law, out of W, or of W times its total: the last is what they sum to.
sub shares {
    my ($law) = @_;
    my $total = big($law->{total} // 1);
    my @ends = map { big($_) } @{$law->{upper}};
    @ends = $law->{rest} ? map { $ends[$_] * $total + big($law->{rest}[$_]) } 0 .. $#ends : map { $_ + 1 } @ends;
    push @ends, big(W) * $total if $law->{rest};
    my @shares = map { $_ ? $ends[$_] - $ends[$_ - 1] : $ends[0] } 0 .. $#ends;
    return (@shares, big(W) * $total);
}

sub rows_spend {
    my ($draw, $n) = @_;
    my %columns;
    for my $x (0 .. $n - 1) {
        my $row = $draw->{rows}[$x];
        my @shares = shares($row);
        my $all = pop @shares;
        for my $i (0 .. $#shares) {
            my $y = $row->{outputs} ? ${$row->{outputs}[$i]} : $i;
            $columns{$y} //= [map { [big(0), big(1)] } 1 .. $n];
            $columns{$y}[$x] = [$columns{$y}[$x][0] + $shares[$i], $all];
        }
    }
    return of_table(values %columns);
}

sub others_spend {
    my ($draw, $n) = @_;
    my @p = shares($draw->{law});
    my $all = pop @p;
    push @p, big(0) while @p < $n;
    my (@s, @Z);       # Z over the denominator of s
    for my $x (0 .. $n - 1) {
        my ($a, $b) = map { big($_) } @{$draw->{accepted}[$x]};
        $a = $b if $a > $b;
        push @s, [$a, $b];
        push @Z, $all * $b - $p[$x] * ($b - $a);
        return INF if $Z[-1]->is_zero;
    }
    return of_table(map {
        my $y = $_;
        [map { [$_ == $y ? $s[$y][0] * $p[$y] : $s[$_][1] * $p[$y], $Z[$_]] } 0 .. $n - 1]
    } 0 .. $#p);
}

sub replace_spends {
    my ($draw, $n) = @_;
    my @by = map { $$_ } @{$draw->{by}};
    my ($t, $all) = (big($draw->{keep}), big(scalar @by));
    my @b = map { big(1) } @by;
    @b = shares($draw->{law}), $all = pop @b if $draw->{law};
    my %b;
    for (0 .. $#by) { $b{$by[$_]} = ($b{$by[$_]} // 0) + $b[$_] if $by[$_] < $n }
    return $t->is_zero ? 0 : INF unless %b;
    return largest(map { my $far = (W - $t) * $_; L($t * $all + $far, $far) } values %b);
}

sub up_and_down {
    my ($u, $v, $all) = (big($_[0]), big($_[1]), $_[2] // big(W));
    my ($ones, $zeros) = (L($u, $v), L($all - $u, $all - $v));
    return [largest($ones, $zeros), largest(-$ones, -$zeros)];
}

# The largest up of one and down of another.
sub two_of {
    my ($most, $up, $down, @each) = (0, @{shift()}, @_);
    for (@each) {
        my ($u, $d) = @$_;
        $most = largest($most, $up + $d, $u + $down);
        ($up, $down) = ($u > $up ? $u : $up, $d > $down ? $d : $down);
    }
    return $most;
}

sub bits_spend {
    my ($draw, $n) = @_;
    my ($sent, %seen, @each) = ${$draw->{sent}};
    for my $x (0 .. $n - 1) {
        my @pair = $x < $sent ? map { ref $_ ? $_->[$x] : $_ } @$draw{qw(own other)} : (0, 0);
        push @each, up_and_down(@pair) if ++$seen{"@pair"} <= 2;
    }
    return two_of(@each);
}

sub reveal_spends {
    my ($draw, $n) = @_;
    my ($s, $told) = (scalar @{$draw->{sensitive}}, big($draw->{told}));
    return $told->is_zero ? 0 : INF if !$s or $s < $n && $told == W;
    my @each = map { up_and_down($draw->{own}[$_], $draw->{other}[$_]) } 0 .. $s - 1;
    my $down = L(W, W - $told);
    return two_of(@each, ([-$down, $down]) x least($n - $s, 2));
}

sub cells_spend {
    my ($u, $v, $draw, $all) = @_;
    my ($m, $h) = map { $$_ } @$draw{qw(cells hashes)};
    return 0 if $m == 1;
    my ($more, $less) = sort { $b <=> $a } @{up_and_down($u, $v, $all)};
    my $a = least($h, $m - 1);
    return $a * $more + least($h, $m - $a) * $less;
}

sub keep_spends {
    my ($k, $keep, $rest) = @_;
    my ($a, $b) = map { big($_) } @{$rest // [0, 1]};
    my $t = big($keep) * $b + $a;
    $t = W * $b if $t > W * $b;
    return L(W * $b + ($k - 1) * $t, W * $b - $t);
}

my %SPENT = (
    same    => sub { INF },
    keep    => sub { keep_spends(${$_[0]{k}}, @{$_[0]}{qw(keep rest)}) },
    rows    => \&rows_spend,
    exact   => \&rows_spend,
    own     => sub {
        my ($draw, $n) = @_;
        my ($own, @p) = shares($draw->{law});
        pop @p;
        push @p, big(0) while @p < $n;
        return largest(map { L($own + $_, $_) } @p[0 .. $n - 1]);
    },
    others  => \&others_spend,
    band    => sub {
        my ($t, $width, $k) = (big($_[0]{keep}), map { big($$_) } @{$_[0]}{qw(width k)});
        my $far = (W - $t) * $width;
        return L($t * ($k + $width - 1) + $far, $far);
    },
    replace => \&replace_spends,
    block   => sub {
        my ($t, $own, $others) = (big($_[0]{keep}), map { big(ref $_ ? $$_ : $_) } @{$_[0]}{qw(own others)});
        return abs L($t * $others, (W - $t) * $own);
    },
    parts   => sub {
        my $sum = 0;
        return INF if grep { shows_answers($_) } @{$_[0]{parts}};
        $sum += draw_spends($_->{draw}, ${$_->{answers}}) for @{$_[0]{parts}};
        return $sum;
    },
    bits    => \&bits_spend,
    subset  => sub {
        my ($t, $k, $size) = (big($_[0]{keep}), map { big($$_) } @{$_[0]}{qw(k size)});
        return abs L($t * ($k - $size), (W - $t) * $size);
    },
    reveal  => \&reveal_spends,
    hash    => sub {
        my ($draw) = @_;
        my $then = $draw->{then};
        return keep_spends(${$draw->{cells}}, $then->{keep}) if $then->{kind} eq 'keep';
        return cells_spend(@$then{qw(own other)}, $draw);
    },
    rappor  => sub {
        my ($draw) = @_;
        my ($owned, $absent, $one, $zero) = map { big($_) } @$draw{qw(owned absent one zero)};
        return cells_spend($owned, $absent, $draw) unless ${$draw->{once}};
        return cells_spend((map { $_ * $one + (W - $_) * $zero } $owned, $absent), $draw, big(W) ** 2);
    },
    kept    => sub { my ($draw, $n) = @_; return rows_spend($draw->{first}, $n) },
);

sub draw_spends { my ($draw, $n) = @_; return $n == 1 ? 0 : $SPENT{$draw->{kind}}->($draw, $n) }

sub texts_of { my ($v) = @_; return defined $v ? ref $v eq 'ARRAY' ? scalar @$v : $$v : 2 }

sub question_spends {
    my ($question) = @_;
    my ($draw, $n) = ($question->{draw}, texts_of($question->{answers}));
    return 2 * question_spends($draw->{gram_question}) + question_spends($draw->{string_question})
        if $draw->{kind} eq 'grams';
    return draw_spends($draw->{draw}, $n + texts_of($draw->{tags})) if $draw->{kind} eq 'personal';
    return draw_spends($draw, $n);
}

sub shows_answers {
    my ($question) = @_;
    my ($draw, $n) = ($question->{draw}, texts_of($question->{answers}));
    return 1 if exists $question->{private} && !${$question->{private}};
    ($draw, $n) = ($draw->{draw}, $n + texts_of($draw->{tags})) if $draw->{kind} eq 'personal';
    my $kind = $draw->{kind};
    return !!grep { shows_answers($_) } @$draw{qw(gram_question string_question)} if $kind eq 'grams';
    my %by = map { $$_ < $n ? ($$_ => 1) : () } @{$draw->{by} // []};
    return $draw->{keep} ne '0' && $n > 1 && keys %by < $n if $kind eq 'replace';
    return $draw->{told} ne '0' && @{$draw->{sensitive}} < $n if $kind eq 'reveal';
    return $kind eq 'same' && $n > 1;
}

sub check_epsilon {    # of the document, by its draws and by what the device accepts
    my ($document, $greatest, $unprotected) = @_;
    my @questions = $document->{questions} ? @{$document->{questions}} : $document->{question};
    my @each = sort { $b <=> $a } map { question_spends($_) }
        grep { !exists $_->{private} || ${$_->{private}} } @questions;
    my $ask = defined $document->{ask} ? ${$document->{ask}} : scalar @each;
    my $said = $document->{epsilon} eq 'inf' ? INF : $document->{epsilon} + 0;
    my $spent = 0;
    $spent += $_ for @each[0 .. $ask - 1];
    refuse('epsilon') if $spent > $said + 1e-9 * largest(1, $said);
    return unless defined $greatest;
    refuse('epsilon') if $said == INF or $greatest ne 'inf' && $said > $greatest;
    my %named = map { $_ => 1 } @{$unprotected // []};
    for (@questions) { refuse('epsilon') if shows_answers($_) and !$named{$_->{name} // 'report'} }
}

1;
