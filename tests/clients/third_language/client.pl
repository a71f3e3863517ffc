#!/usr/bin/perl
# A third client of ldpstats, written from ldpstats/clients/SPECIFICATION.md alone, with what comes
# with Perl 5 (64 bits). It speaks the conformance protocol of section 11: one JSON object on each
# line of standard input, one on each line of standard output. It is a test of the page, not a client
# to use: it keeps no budget on disk, and it draws no random bytes of its own.
use v5.28;
use strict;
use warnings;
no warnings qw(portable surrogate nonchar non_unicode recursion);
use Digest::SHA ();
use FindBin ();

BEGIN { require "$FindBin::Bin/$_.pl" for qw(documents words draws spends) }

our ($random, $taken, %BITS);

# ---------------------------------------------------------------- Questions

# A question is { check => sub (answer) which refuses it, or gives what `report` takes,
# report => sub (that) }; RAPPOR's has `once` and open => sub (secret), too.

sub question {
    my ($document, $tags) = @_;
    my $draw = need_object($document, 'draw');
    my $kind = need_text($draw, 'kind');
    my $answers = need($document, 'answers');
    $answers = as_texts($answers) if defined $answers;
    refuse('tags') if $kind ne 'personal' and defined $tags and !(ref $tags eq 'HASH' and !%$tags);

    my $bytes = !$answers || $kind =~ /\A(?:hash|rappor|grams)\z/;
    my $check = sub {          # the text and the number of an answer
        my ($text) = @_;
        refuse('answer') if !defined $text or ref $text;
        utf8_bytes($text) if $bytes;
        my $x = $answers && $answers->{find}->($text);
        refuse('answer') if $answers and !defined $x;
        return [$text, $x];
    };
    return hash_question($draw, $answers, $check, need($document, 'reports')) if $kind eq 'hash';
    return rappor_question($draw, $answers, $check, need($document, 'reports')) if $kind eq 'rappor';
    return kept_question($draw, $answers, $check, $document) if $kind eq 'kept';
    refuse('document') if $kind eq 'grams' and ($answers or defined need($document, 'reports'));
    return grams_question($draw, $check) if $kind eq 'grams';
    return { check => $check, report => sub { $_[0][0] } } if $kind eq 'same' and !$answers;

    refuse('document') unless $answers;
    my ($k, $map) = ($answers->{size}, sub { $_[0] });
    if ($kind eq 'personal') {
        my $names = as_texts(need($draw, 'tags'));
        my %tag = personal_tags($names, $answers, $tags);
        $map = sub { exists $tag{$_[0]} ? $answers->{size} + $tag{$_[0]} : $_[0] };
        $k += $names->{size};
        $draw = need_object($draw, 'draw');
        $kind = need_text($draw, 'kind');
        refuse('document') unless $kind eq 'replace' or $kind eq 'reveal';
    }
    my $reports = need($document, 'reports');
    if (my $make = $BITS{$kind}) {
        my $bits = $make->($draw, $k, need_count($reports, 'bits'));
        return { check => $check, report => sub { $bits->($map->($_[0][1])) } };
    }
    $reports = as_texts($reports);
    my $labels = label_draw($draw, $k, $reports->{size});
    return { check => $check, report => sub { $reports->{text}->($labels->($map->($_[0][1]))) } };
}

sub personal_tags {   # from numbers of answers to numbers of tags
    my ($names, $answers, $tags) = @_;
    my %tag;
    return unless defined $tags;
    refuse('tags') unless ref $tags eq 'HASH';
    for my $name (sort keys %$tags) {
        my $i = $names->{find}->($name) // refuse('tags');
        refuse('tags') unless ref $tags->{$name} eq 'ARRAY';
        for my $answer (@{$tags->{$name}}) {
            my $x = defined $answer && !ref $answer ? $answers->{find}->($answer) : undef;
            refuse('tags') if !defined $x or exists $tag{$x} and $tag{$x} != $i;
            $tag{$x} = $i;
        }
    }
    return %tag;
}

sub need_bits { refuse('document') if need_count($_[0], 'bits') != $_[1] }

sub hash_question {
    my ($draw, $answers, $check, $reports) = @_;
    my ($C, $m) = map { need_count($draw, $_) } qw(cohorts cells);
    my $cells = hasher($draw, $answers);
    my $then = need_object($draw, 'then');
    my $kind = need_text($then, 'kind');
    my $report;
    if ($kind eq 'keep') {
        my $T = need_threshold($then, 'keep');
        refuse('document') if as_texts($reports)->{size} != $m;
        $report = sub { KEEP($_[0], $m, $T) };
    }
    elsif ($kind eq 'bits') {
        my ($own, $other) = map { need_threshold_or_list($then, $_, $m) } qw(own other);
        need_bits($reports, $m);
        $report = sub { join '', BITS($m, [@_], $own, $other) };
    }
    else { refuse('document') }
    return {
        check  => $check,
        report => sub {
            my $c = UNIFORM($C);
            return "$c:" . $report->($cells->($c, @{$_[0]}));
        },
    };
}

sub rappor_question {
    my ($draw, $answers, $check, $reports) = @_;
    my ($C, $m) = map { need_count($draw, $_) } qw(cohorts cells);
    need_bits($reports, $m);
    my $digest = utf8_bytes(need_text($draw, 'digest'));
    my ($owned, $absent, $one, $zero) = map { need_threshold($draw, $_) } qw(owned absent one zero);
    my $cells = hasher($draw, $answers);
    my $once = need_truth($draw, 'once');
    my ($secret, $c);
    return {
        check     => $check,
        once      => $once,
        open      => sub { $secret = $_[0] // take(4); $c = rappor_cohort($secret, $C) },
        report    => sub {
            my ($text, $x) = @{$_[0]};
            my @R = permanent($secret, $c, $digest, $text, $m, $owned, $absent, $cells->($c, $text, $x));
            return "$c:" . join '', BITS($m, [], 0, [map { $_ ? $one : $zero } @R]);
        },
    };
}

sub kept_question {   # section 5.4
    my ($draw, $answers, $check, $document) = @_;
    refuse('document') unless $answers;
    my $reports = as_texts(need($document, 'reports'));
    my $b       = need_count($draw, 'responses');
    my $first   = need_object($draw, 'first');
    refuse('document') if need_text($first, 'kind') ne 'rows';
    label_draw($first, $answers->{size}, $b);
    my $then = label_draw(need_object($draw, 'then'), $b, $reports->{size});
    my $law  = { answers => $document->{answers}, digest => need_text($draw, 'digest'), first => $first };
    my $head = 'ldpstats kept 1 ' . Digest::SHA::sha256(write_json($law));
    my $secret;
    return {
        check  => $check,
        once   => 0,
        open   => sub { $secret = $_[0] // take(4) },
        report => sub {
            my $x = $_[0][1];
            my ($w) = hmac_words($secret, $head . pack('Q>', $x), 1);
            my $row = $first->{rows}[$x];
            my $y = count_upper([map { as_threshold($_) } @{$row->{upper}}], $w);
            $y = as_integer($row->{outputs}[$y]) if exists $row->{outputs};
            return $reports->{text}->($then->($y));
        },
    };
}

sub grams_question {
    my ($draw, $check) = @_;
    my ($length, $gram, $step) = map { need_count($draw, $_) } qw(length gram step);
    my ($alphabet, $pad) = map { need_text($draw, $_) } qw(alphabet pad);
    my $replace = need($draw, 'replace');
    my %letter = map { $_ => 1 } split //, $alphabet;
    my ($grams, $strings) = map { question(need_object($draw, $_)) } qw(gram_question string_question);
    for my $name (qw(gram_question string_question)) {
        refuse('document') if $draw->{$name}{draw}{kind} =~ /\A(?:rappor|kept|personal)\z/;
    }
    refuse('document') if $length < $gram or length $pad != 1 or length($replace // 'a') != 1;
    my @positions = map { $_ * $step } 0 .. ($length - $gram) / $step;
    my @pairs;
    for my $i (@positions) { push @pairs, map { [$i, $_] } grep { $_ > $i } @positions }
    refuse('document') unless @pairs;
    return {
        check => sub {
            my ($text) = @{$check->($_[0])};
            refuse('answer') if $text eq '';
            my $string = join '', map { $letter{$_} ? $_ : $replace // refuse('answer') } split //, $text;
            $string = substr $string, 0, $length;
            $string .= $pad x ($length - length $string);
            my %sent = map { $_ => $grams->{check}->(substr $string, $_, $gram) } @positions;
            $string =~ s/\Q$pad\E+\z//;
            return [\%sent, $strings->{check}->($string)];
        },
        report => sub {
            my ($of, $string) = @{$_[0]};
            my $pair  = $pairs[UNIFORM(scalar @pairs)];
            my @sent  = map { $grams->{report}->($of->{$_}) } @$pair;
            my $whole = $strings->{report}->($string);
            return { positions => [map { number($_) } @$pair], grams => \@sent, string => $whole };
        },
    };
}

# ---------------------------------------------------------------- Clients

sub check_document {  # format, version and fingerprint
    my ($document) = @_;
    refuse('document') unless ref $document eq 'HASH';
    my %rest = %$document;
    my $fingerprint = need_text($document, 'fingerprint');
    delete $rest{fingerprint};
    refuse('document') if need_text($document, 'format') ne 'ldpstats-client';
    refuse('document') if as_integer(need($document, 'version')) != 1;
    refuse('document') if $fingerprint ne substr Digest::SHA::sha256_hex(write_json(\%rest)), 0, 12;
    need_text($document, 'survey');
    need_text($document, 'epsilon') =~ /\A(?:inf|[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?)\z/ or refuse('document');
}

sub open_sheet {      # the questions of a questionnaire, and how many are asked
    my ($document, $tags) = @_;
    refuse('tags') if defined $tags and ref $tags ne 'HASH';
    my (%known, @questions);
    for my $part (@{need_list($document, 'questions')}) {
        my $name = need_text($part, 'name');
        my $question = question($part, $tags && $tags->{$name});
        refuse('document') if $known{$name}++;
        refuse('document') if $question->{open} and ($question->{once} or !exists $document->{link});
        $question->{name}    = $name;
        $question->{private} = need_truth($part, 'private');
        if (exists $part->{refused}) {
            $question->{refused} = need_text($part, 'refused');
            eval { $question->{check}->($question->{refused}) } or refuse('document');
        }
        push @questions, $question;
    }
    my $n   = grep { $_->{private} } @questions;
    my $ask = defined need($document, 'ask') ? need_count($document, 'ask', $n) : $n;
    refuse('document') if exists $document->{wave} != exists $document->{family};
    refuse('document') if exists $document->{wave} and need_text($document, 'wave') eq '';
    need_text($document, 'family') if exists $document->{family};
    refuse('document') if exists $document->{link}
        and !(need_truth($document, 'link') and exists $document->{wave});
    $known{$_} or refuse('tags') for keys %{$tags // {}};
    return { questions => \@questions, known => \%known, ask => $ask };
}

sub open_client {
    my ($request) = @_;
    my ($document, $tags) = @$request{qw(client tags)};
    check_document($document);
    my $asked = write_json({ map { $_ => $document->{$_} } qw(ask family questions) });
    my $open = exists $document->{questions} ? \&open_sheet
        : sub { { question => question(need_object($_[0], 'question'), $_[1]) } };
    $open->($document);    # what is wrong with the document goes before what is wrong with tags
    my $client = $open->($document, $tags);
    check_epsilon($document, @$request{qw(max_epsilon unprotected)});
    $client->{made}  = 0;
    $client->{limit} = exists $request->{reports} ? $request->{reports} : number(1);
    $client->{limit} = ${$client->{limit}} if defined $client->{limit};
    if ($client->{questions}) {
        my $secret = defined $request->{secret} ? pack 'H*', $request->{secret} : undef;
        if (exists $document->{link}) {
            $secret //= take(4);
            $client->{token} = pseudonym($asked, $secret);
            for my $question (grep { $_->{open} } @{$client->{questions}}) {
                my $message = 'ldpstats question 1 ' . write_json($question->{name}) . "\0" x 8;
                $question->{open}->(Digest::SHA::hmac_sha256($message, $secret));
            }
        }
        draw_asked($client);
    }
    elsif ($client->{question}{open}) {
        $client->{limit} = $client->{question}{once} ? 1 : undef;
        $client->{question}{open}->(defined $request->{secret} ? pack 'H*', $request->{secret} : undef);
    }
    return $client;
}

sub pseudonym {       # section 10.2
    my ($asked, $secret) = @_;
    my $message = "ldpstats token 1 $asked" . "\0" x 8;
    return substr Digest::SHA::hmac_sha256_hex($message, $secret), 0, 32;
}

sub draw_asked {      # section 7: which questions the next sheet asks
    my ($client) = @_;
    my @private = grep { $_->{private} } @{$client->{questions}};
    my ($n, $ask) = (scalar @private, $client->{ask});
    delete $client->{asked};
    my %drawn;
    my $f = $ask < $n - $ask ? $ask : $n - $ask;
    my @order = 0 .. $n - 1;
    for my $i (0 .. $f - 1) {
        my $j = $i + UNIFORM($n - $i);
        $drawn{$order[$j]} = 1;
        $order[$j] = $order[$i];
    }
    my @asked = grep { !$_->{private} } @{$client->{questions}};
    push @asked, @private[grep { ($drawn{$_} // 0) == ($f == $ask) } 0 .. $n - 1];
    $client->{asked} = { map { $_->{name} => 1 } @asked };
}

sub make_report {
    my ($client, $answer) = @_;
    refuse('budget') if defined $client->{limit} and $client->{made} >= $client->{limit};
    if (my $question = $client->{question}) {
        my $report = $question->{report}->($question->{check}->($answer));
        $client->{made}++;
        return $report;
    }
    draw_asked($client) unless $client->{asked};
    refuse('answer') unless ref $answer eq 'HASH';
    $client->{known}{$_} or refuse('answer') for keys %$answer;
    my (%checked, %sheet);
    my @questions = @{$client->{questions}};
    for my $question (@questions) {
        my $name = $question->{name};
        next unless $client->{asked}{$name};
        my $text = $answer->{$name} // $question->{refused};
        $checked{$name} = $question->{check}->($text) if defined $text;
    }
    for my $question (@questions) {
        my $name = $question->{name};
        $sheet{$name} = exists $checked{$name} ? $question->{report}->($checked{$name}) : undef;
    }
    push @{$client->{sheets}}, [grep { $client->{asked}{$_} } map { $_->{name} } @questions];
    $client->{made}++;
    eval { draw_asked($client) };
    return \%sheet;
}

sub invitation_code { # section 10.1
    my ($text) = @_;
    refuse('invitation') if ref $text;
    $text =~ s/[ \-\x{2010}-\x{2015}]//g;
    refuse('invitation') unless $text =~ /\A[2-9A-HJKMNP-Za-hjkmnp-z]{20}\z/;
    $text =~ tr/a-z/A-Z/;
    my @places = map { index '23456789ABCDEFGHJKMNPQRSTUVWXYZ', $_ } split //, $text;
    my $check  = pop @places;
    my $sum    = 0;
    $sum += ($_ + 1) * $places[$_] for 0 .. $#places;
    refuse('invitation') if $sum % 31 != $check;
    return $text;
}

sub message {         # section 10
    my ($client, $document, $answer, $invitation) = @_;
    my @invited = defined $invitation ? (invitation => invitation_code($invitation)) : ();
    my $report = make_report($client, $answer);
    my $token = $client->{token} // do {
        open my $random, '<:raw', '/dev/urandom' or die $!;
        read($random, my $drawn, 16) == 16 or die $!;
        unpack 'H*', $drawn;
    };
    return {
        format  => 'ldpstats-sheet',
        version => number(1),
        survey  => $document->{survey},
        token   => $token,
        @invited,
        sheet   => $client->{question} ? { report => $report } : $report,
    };
}

# What `sub` gives, or {"refused": reason}.
sub or_refused {
    my ($sub) = @_;
    my $result = eval { $sub->() };
    return $result unless $@;
    die $@ unless ref $@ eq 'HASH';
    return { refused => $@->{reason} };
}

sub answer_line {
    my ($line) = @_;
    utf8::decode($line);
    my $request = parse_json($line);
    ($random, $taken) = (pack('H*', $request->{random} // ''), 0);
    my $client = or_refused(sub { open_client($request) });
    return write_json({ id => $request->{id}, refused => $client->{refused} }) if $client->{refused};
    my %out = (id => $request->{id});
    for my $answer (@{$request->{answers}}) {
        push @{$out{reports}}, or_refused(sub {
            $request->{messages}
                ? message($client, $request->{client}, $answer, $request->{invitation})
                : make_report($client, $answer);
        });
    }
    $out{reports} //= [];
    $out{used}  = number($taken);
    $out{asked} = $client->{sheets} // [] if $client->{questions};
    return write_json(\%out);
}

unless (caller) {
    $| = 1;
    binmode STDIN;
    while (my $line = <STDIN>) { print answer_line($line), "\n" if $line =~ /\S/ }
}

1;
